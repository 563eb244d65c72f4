import { buildPollMenu, renderMenu } from '../menu-text.js';
import type { SentMenu, ClaimedMessage } from '@gwk/core/protocol/engine';
import type { OutboundEdit } from '@gwk/core/protocol/commands';
import type { LinkPreview } from '@gwk/core/resources/finished-media';
import type { MessageType, OutboundContent } from '@gwk/core/resources/message';
import type { InteractiveMode } from '@gwk/core/states';
import { SendFailure, type EncodedMessage } from '../driver.js';
import type { DeliveredMedia } from './media.js';

type Builder = (content: OutboundContent, mode: InteractiveMode) => RenderedBody;

/** The part of a message that depends on its type. */
interface RenderedBody {
  body: Record<string, unknown>;
  rendered_as?: EncodedMessage['rendered_as'];
  menu?: SentMenu;
}

const copyContent: Builder = (content) => ({ body: { [content.type]: content[content.type] } });

/** Builders by type of message. */
const BUILDERS: Record<MessageType, Builder> = {
  text: copyContent,
  image: copyContent,
  video: copyContent,
  document: copyContent,
  audio: copyContent,
  sticker: copyContent,
  location: copyContent,
  contact: copyContent,
  interactive: renderInteractive,
  album: copyContent,
  poll: ({ poll }) => ({ body: { poll }, menu: buildPollMenu(poll!) }),
};

/** @throws SendFailure for a type without a builder: content of a newer release */
export function buildForSandbox(
  message: ClaimedMessage,
  media: DeliveredMedia | null = null,
): EncodedMessage {
  const content = JSON.parse(message.content) as OutboundContent;
  const { type, mentions, preview, part_of } = content;
  const builder = Object.hasOwn(BUILDERS, type) ? BUILDERS[type] : undefined;
  if (!builder) throw SendFailure.refused('internal', 'a message of this type cannot be built');
  const { body, rendered_as = null, menu = null } = builder(content, message.interactive_mode);
  const rendered = {
    type,
    ...body,
    ...(media && { media }),
    ...(preview && { preview: hideFile(preview) }),
    ...(message.quoted && { quoted: message.quoted }),
    ...(mentions && { mentions }),
    ...(part_of && { part_of }),
  };
  return { bytes: Buffer.from(JSON.stringify(rendered)), rendered_as, menu };
}

/** Ids of files are internal. */
const hideFile = ({ picture, ...preview }: LinkPreview) => ({
  ...preview,
  ...(picture && { picture: { ...picture, file: undefined } }),
});

const AUDIO = Buffer.from('{"type":"audio"');

/** Whether a built message is a voice message. */
export function isVoice(bytes: Buffer): boolean {
  if (!bytes.subarray(0, AUDIO.length).equals(AUDIO)) return false;
  return (JSON.parse(bytes.toString()) as OutboundContent).audio?.voice === true;
}

/** Builds an edit, a deletion or a reaction: a message of its own that names the changed one. */
export function buildEdit({ kind, message, ...edit }: OutboundEdit): Buffer {
  const text = kind === 'edit' && 'text' in edit ? { text: { body: edit.text } } : {};
  const emoji = 'emoji' in edit ? { emoji: edit.emoji } : {};
  return Buffer.from(JSON.stringify({ type: kind, key: message, ...text, ...emoji }));
}

function renderInteractive({ interactive }: OutboundContent, ofInstance: InteractiveMode): RenderedBody {
  const { rendered_as, text, menu } = renderMenu(interactive!, ofInstance);
  if (menu.mode === 'text') return { body: { text: { body: text } }, rendered_as, menu };
  const { footer, buttons, list } = interactive!;
  const native = { body: text, ...(footer && { footer }), ...(buttons ? { buttons } : { list }) };
  return { body: { interactive: native }, rendered_as, menu };
}
