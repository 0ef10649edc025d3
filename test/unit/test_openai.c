#include "test.h"
#include "model_trace.h"
TEST(openai_recordings_replay_the_same_with_every_cut) { trace_fixtures(&wire_openai, "openai-chat"); }
