// @parley/client: the protocol (events, reducers, markers) and the transports, without React.
export * from '../src/protocol';
export * from '../src/protocol/general';
export { Api, Refused, Unreachable, type ApiOptions, type TokenSource, type ThreadInfo, type ToolInfo, type Whoami } from '../src/transport/api';
export { SseParser, readSse, type SseEvent } from '../src/transport/sse';
export { HttpChannel } from '../src/transport/http';
export { LiveChannel, SocketDown } from '../src/transport/live';
export { Link, type Connection } from '../src/transport/link';
export { Session, newId, type ClientTool, type Draft, type Keeper, type SessionOptions, type Snapshot, type Unsent } from '../src/transport/session';
export { GeneralChat, whyLost, type GeneralChatOptions } from '../src/transport/general';
export { WireLog, type Channel, type Delivery, type Mode } from '../src/transport/types';
