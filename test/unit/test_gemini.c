#include "test.h"
#include "model_trace.h"
TEST(gemini_recordings_replay_the_same_with_every_cut) { trace_fixtures(&wire_gemini, "google"); }
