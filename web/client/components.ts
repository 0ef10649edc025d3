// @parley/client/components: the page's own parts for other people's pages (React 19).
export { Chat, type ChatProps } from './ui/Chat';
export { ChatTray, type ChatTrayProps } from './ui/ChatTray';
export {
  ApprovalCard,
  ToolCallCard,
  type ApprovalCardProps,
  type ToolCallCardProps,
} from './ui/cards';
export { ApprovalInbox, type ApprovalInboxProps } from './ui/ApprovalInbox';
export type { AssistantOptions } from './ui/useAssistant';
export type { Words } from './ui/Panel';
export type { Look, Theme } from './ui/page';
