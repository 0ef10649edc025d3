/* fuzz_gemini.c -- the gemini decoder on any bytes; see fuzz_wire.h. */
#include "fuzz_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_wire(&wire_gemini, data, size);
}
