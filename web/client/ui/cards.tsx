/* cards.tsx -- `<ApprovalCard>` and `<ToolCallCard>`: the page's cards, one at a time, for those who
 * draw the rest themselves. */
import { useMemo, useState } from 'react';
import { ApprovalCard as Card } from '../../src/chat/ApprovalCard';
import { alone, BaseContext, ChatContext, type ChatActions } from '../../src/chat/context';
import { ToolItem } from '../../src/chat/ToolCard';
import { callOf } from '../../src/chat/Waiting';
import type { Call } from '../../src/protocol';
import type { GeneralApproval, GeneralToolCall } from '../../src/protocol/general';
import type { ToolInfo } from '../../src/transport/api';
import { t } from '../../src/words';
import { usePage, type Look } from './page';
import { Shadow } from './Shadow';
import { useApi } from './useAssistant';

export interface ApprovalCardProps extends Look {
  /** One of `pending` of `useGeneralChat`, or a record of `/v1/approvals`. */
  approval: GeneralApproval;
  /** The person's answer: `chat.approve` or `chat.deny`. What it throws is shown on the card. */
  onDecide: (confirmed: boolean, reason?: string) => Promise<unknown> | void;
  /** A yes with other arguments (all of them): `chat.approve(id, input)`. Without it nothing can be changed on the card. */
  onEdit?: (input: unknown) => Promise<unknown> | void;
  /** False where somebody else decides: the card has no buttons then. */
  mayDecide?: boolean;
  /** Where the server is: it says the product's colour and its languages. */
  base?: string;
  /** As `/v1/tools` describes it: says where it runs. */
  tool?: ToolInfo;
  className?: string;
}

/** A request that waits: the sentence, the arguments with nothing hidden in them, and a yes or no
 * that a hurried click cannot give. */
export function ApprovalCard({
  approval,
  onDecide,
  onEdit,
  mayDecide = true,
  base,
  tool,
  className,
  lang,
  ...look
}: ApprovalCardProps) {
  const page = useServerPage(base, lang);
  const [mine, setMine] = useState<{ sending?: 'approve' | 'deny'; error?: string }>({});
  const chat = useMemo<ChatActions>(
    () => ({
      ...alone,
      mayDecide,
      tool: () => tool,
      edits: onEdit !== undefined,
      decide: (_, confirmed, { reason, input } = {}) => {
        setMine({ sending: confirmed ? 'approve' : 'deny' });
        Promise.resolve(onEdit && input !== undefined ? onEdit(input) : onDecide(confirmed, reason)).then(
          () => setMine({}),
          (e: unknown) => setMine({ error: e instanceof Error ? e.message : t.failed }),
        );
      },
    }),
    [mayDecide, tool, onDecide, onEdit],
  );
  const { error } = approval;
  const call = callOf(approval);
  return (
    <Shadow className={className} page={page} {...look} inner={{ className: 'piece' }}>
      <ChatContext value={chat}>
        <Card
          call={{ ...call, approval: { ...call.approval!, ...(error ? { error } : {}), ...mine } }}
        />
      </ChatContext>
    </Shadow>
  );
}

export interface ToolCallCardProps extends Look {
  /** One of a message's `toolHistory`. */
  call: GeneralToolCall;
  /** Where the server is: needed to show artifacts; it says the product's colour and its languages. */
  base?: string;
  tool?: ToolInfo;
  className?: string;
}

/** A tool call: its name, how far it is, and on a click what went in and what came out. */
export function ToolCallCard({ call, base, tool, className, lang, ...look }: ToolCallCardProps) {
  const page = useServerPage(base, lang);
  const chat = useMemo<ChatActions>(() => ({ ...alone, tool: () => tool }), [tool]);
  const failed = call.ok === false;
  const shown: Call = {
    id: call.tool_use_id,
    name: call.tool_name,
    status: call.status,
    input: call.input,
    updates: 0,
    ...(failed
      ? { error: typeof call.output === 'string' ? call.output : JSON.stringify(call.output) }
      : { output: call.output }),
    ...(call.ms !== undefined ? { ms: call.ms } : {}),
  };
  return (
    <Shadow className={className} page={page} {...look} inner={{ className: 'piece' }}>
      <BaseContext value={base ?? ''}>
        <ChatContext value={chat}>
          <h3 className="sr">{t.toolNamed(call.tool_name)}</h3>
          <ToolItem call={shown} />
        </ChatContext>
      </BaseContext>
    </Shadow>
  );
}

/* A card can stand where no server is known. */
function useServerPage(base: string | undefined, lang: string | undefined) {
  const api = useApi({ base });
  return usePage(base === undefined ? null : api, lang);
}
