// ws.mjs -- the WebSocket client of test/lib, where the live tests look for it.
export * from '../lib/ws.mjs';
