// What the rest of the page, and @parley/client, use of the protocol.
export * from './events';
export * from './exact';
export * from './state';
export * from './marker';
export { reduce, reduceAll } from './reducer';
export { decodeChunk, confirmationTool } from './chunks';
export { hydrate, prepend, fromUI, type StoredThread, type UIMessage, type UIPart } from './history';
