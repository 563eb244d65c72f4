import type { proto } from '@whiskeysockets/baileys';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import { limitName } from './text.js';

type Click = NonNullable<InboundMessage['click']>;
type Text = string | null | undefined;

/** Parses a click on a menu, in any of the four forms that apps use. */
export function parseClick(message: proto.IMessage): Click | null {
  const { interactiveResponseMessage: flow, buttonsResponseMessage: button } = message;
  const { templateButtonReplyMessage: template, listResponseMessage: list } = message;
  if (flow?.nativeFlowResponseMessage) {
    const { id, title } = parseParams(flow.nativeFlowResponseMessage.paramsJson);
    return toClick('native_flow', flow, id, title ?? flow.body?.text);
  }
  if (button) return toClick('button', button, button.selectedButtonId, button.selectedDisplayText);
  if (template)
    return toClick('template_button', template, template.selectedId, template.selectedDisplayText);
  return list ? toClick('list', list, list.singleSelectReply?.selectedRowId, list.title) : null;
}

function toClick(
  source: Click['source'],
  { contextInfo }: { contextInfo?: proto.IContextInfo | null },
  id: Text,
  label: Text,
): Click | null {
  if (!id) return null;
  return {
    option_id: id.slice(0, 500),
    label: limitName(label, 500),
    source,
    in_reply_to_wa_message_id: contextInfo?.stanzaId ? contextInfo.stanzaId.slice(0, 200) : null,
  };
}

/** Parses JSON that another app wrote; it may be malformed. */
function parseParams(json: Text): { id?: string; title?: string } {
  try {
    const { id, title } = JSON.parse(json ?? '{}') as Record<string, unknown>;
    return {
      ...(typeof id === 'string' && { id }),
      ...(typeof title === 'string' && { title }),
    };
  } catch {
    return {};
  }
}
