/* test_anthropic.c */
#include "test.h"
#include "model_trace.h"
TEST(anthropic_recordings_replay_the_same_with_every_cut) { trace_fixtures(&wire_anthropic, "anthropic"); }
