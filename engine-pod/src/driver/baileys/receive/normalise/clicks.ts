import type { proto } from '@whiskeysockets/baileys';
import type { InboundMessage } from '@gwk/core/protocol/inbound';

type Click = NonNullable<InboundMessage['click']>;
type Source = Click['source'];

interface RawClick {
  id: string | null | undefined;
  label: string | null | undefined;
  source: Source;
  context: proto.IContextInfo | null | undefined;
}

/** Parses a click on a menu, in any of the four forms that apps use. */
export function parseClick(message: proto.IMessage): Click | null {
  const clicked =
    parseNativeFlow(message) ?? parseButton(message) ?? parseTemplateButton(message) ?? parseListRow(message);
  if (!clicked?.id) return null;
  const { id, label, source, context } = clicked;
  return {
    option_id: id.slice(0, 500),
    label: label ? label.slice(0, 500) : null,
    source,
    in_reply_to_wa_message_id: context?.stanzaId ? context.stanzaId.slice(0, 200) : null,
  };
}

function parseNativeFlow({ interactiveResponseMessage: response }: proto.IMessage): RawClick | null {
  const flow = response?.nativeFlowResponseMessage;
  if (!flow) return null;
  const { id, title } = parseParams(flow.paramsJson);
  return { id, label: title ?? response.body?.text, source: 'native_flow', context: response.contextInfo };
}

/** Parses JSON that another app wrote; it may be malformed. */
function parseParams(json: string | null | undefined): { id?: string; title?: string } {
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

function parseButton({ buttonsResponseMessage: response }: proto.IMessage): RawClick | null {
  return response
    ? {
        id: response.selectedButtonId,
        label: response.selectedDisplayText,
        source: 'button',
        context: response.contextInfo,
      }
    : null;
}

function parseTemplateButton({ templateButtonReplyMessage: response }: proto.IMessage): RawClick | null {
  return response
    ? {
        id: response.selectedId,
        label: response.selectedDisplayText,
        source: 'template_button',
        context: response.contextInfo,
      }
    : null;
}

function parseListRow({ listResponseMessage: response }: proto.IMessage): RawClick | null {
  return response
    ? {
        id: response.singleSelectReply?.selectedRowId,
        label: response.title,
        source: 'list',
        context: response.contextInfo,
      }
    : null;
}
