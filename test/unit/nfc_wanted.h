/* nfc_wanted.h -- made by scripts/nfc from Unicode 14.0.0; not to be edited. SHA-256 of the
 * texts of test_nfc.c as Python's unicodedata writes them, a line each. */
#define NFC_SINGLES  "9cc65524a9d8082bf10840c616cd199bd2ac12ee49a3381bd6fb7957711f342b"
#define NFC_PAIRS    "57223075a99397b974d4bc9458c148154decaf6a4609b954364762fe7fbd820e"
#define NFC_HANGUL   "5ad654a55809169c37357617f7cc61a2412cce5b15d71fe8c38f9874b9448a4d"
#define NFC_MIXTURES "8bbed34195931e8cd506921b81f22895ac501c55f088f75f9a78fc927180edfb"
