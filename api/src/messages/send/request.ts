import { fromPublicId } from '@gwk/core/ids/ids';
import type { LocalText } from '@gwk/core/language';
import { Problem } from '@gwk/core/problems/problems';
import { EVERYBODY, parseRecipient, toNetworkId, type Recipient } from '@gwk/core/ids/recipients';
import { checkInteractive, checkMedia } from '@gwk/core/resources/content';
import { MESSAGE_TYPES, SendMessage, extractText, type OutboundContent } from '@gwk/core/resources/message';
import { validate } from '../../http/validate.js';
import { extractMedia, needsPreparation } from '../preparation.js';

/** A syntactically valid send request. Nothing has been looked up yet. */
export interface Draft {
  /** UUID; null for a malformed id. */
  instanceId: string | null;
  recipient: Recipient;
  /** The recipient as written in the request. */
  to: string;
  type: SendMessage['type'];
  content: OutboundContent;
  /** Messages that leave right after it: the files of an album, or the HD version of a picture. */
  parts: Draft[];
  /** Text that the mass-send block counts; null without text. */
  text: string | null;
  replyTo: string | null;
  /** UUID of a media file that the request names by id. */
  mediaId: string | null;
  /** False: the worker has to fetch, convert or preview something before the message can be claimed. */
  prepared: boolean;
}

/** @throws Problem `validation-error`, `invalid-message`, `invalid-phone`, `invalid-reply-to`, `media-not-found` */
export function readDraft(body: unknown): Draft {
  const message = validate(SendMessage, body);
  const { instance_id, to, reply_to } = message;
  checkContent(message);
  const recipient = parseRecipient(to);
  if (!recipient) throw new Problem('invalid-phone', describeRefusal(to));
  const mentions = readMentions(message.mentions ?? [], recipient);
  const replyTo = readReplyTo(reply_to ?? null);
  const shared = { instanceId: fromPublicId('instance', instance_id), recipient, to };
  const [content, ...parts] = readContents(message).map((one) => ({
    ...one,
    ...(mentions.length > 0 && one.type !== 'album' && { mentions }),
  }));
  if (replyTo !== null) content!.reply_to = replyTo;
  return {
    ...buildDraft(shared, content!),
    replyTo,
    parts: parts.map((part) => buildDraft(shared, part)),
  };
}

/** The content of each message of the request. */
function readContents({ type, album, image, ...message }: SendMessage): OutboundContent[] {
  if (album) {
    const files = album.map(({ image: picture, video }): OutboundContent =>
      picture ? { type: 'image', image: picture } : { type: 'video', video: video! },
    );
    const images = files.filter((file) => file.image).length;
    return [{ type, album: { images, videos: files.length - images } }, ...files];
  }
  if (!image) return [{ type, [type]: message[type as keyof typeof message] }];
  const { media, hd } = image;
  return [{ type, image }, ...(hd ? [{ type, image: { media, hd } }] : [])];
}

/** @throws Problem `invalid-message` */
function buildDraft(shared: Pick<Draft, 'instanceId' | 'recipient' | 'to'>, content: OutboundContent): Draft {
  const media = extractMedia(content);
  if (media) checkMedia(media);
  return {
    ...shared,
    type: content.type,
    content,
    parts: [],
    text: extractText(content),
    replyTo: null,
    mediaId: media?.media_id ? fromPublicId('media', media.media_id) : null,
    prepared: !needsPreparation(content),
  };
}

/** Recipients that are no contacts and no groups. */
const REFUSED: readonly [RegExp, LocalText][] = [
  [
    /@newsletter$/i,
    {
      pt: 'Canais (`@newsletter`) não recebem mensagens.',
      en: 'Channels (`@newsletter`) receive no messages.',
    },
  ],
  [
    /^status@broadcast$/i,
    { pt: 'Publicações de status não podem ser enviadas.', en: 'Status posts cannot be sent.' },
  ],
  [
    /@broadcast$/i,
    {
      pt: 'Listas de transmissão não recebem mensagens. Envie a cada contato.',
      en: 'Broadcast lists receive no messages. Send to each contact.',
    },
  ],
  [
    /.@[\w.-]+$/,
    {
      pt: 'Este id de rede não é de um contato nem de um grupo.',
      en: 'This network id is of no contact or group.',
    },
  ],
  [
    /^@?(?=.*[a-z])[a-z0-9._]{3,35}$/i,
    {
      pt: 'Um nome de usuário não é um destinatário. Use o `id` do contato, de um evento dele.',
      en: 'A username is no recipient. Use the `id` of the contact, from one of its events.',
    },
  ],
];

/** Names what is wrong with a recipient, if its form shows it. */
function describeRefusal(to: string): { detail: LocalText } | undefined {
  const [, detail] = REFUSED.find(([form]) => form.test(to)) ?? [];
  return detail && { detail };
}

/** Checks rules across fields, which the schema cannot express. @throws Problem `invalid-message` */
function checkContent(message: SendMessage): void {
  const { type, interactive } = message;
  if (!message[type]) {
    throw new Problem('invalid-message', {
      detail: {
        pt: `O campo \`${type}\` é obrigatório para este tipo.`,
        en: `The field \`${type}\` is required for this type.`,
      },
    });
  }
  const other = MESSAGE_TYPES.find((name) => name !== type && message[name] !== undefined);
  if (other) {
    throw new Problem('invalid-message', {
      detail: {
        pt: `O campo \`${other}\` não pertence ao tipo \`${type}\`.`,
        en: `The field \`${other}\` does not belong to the type \`${type}\`.`,
      },
    });
  }
  if (interactive) checkInteractive(interactive);
}

/** @throws Problem `invalid-reply-to` for a malformed id */
function readReplyTo(given: string | null): string | null {
  if (given === null) return null;
  const id = fromPublicId('message', given);
  if (id === null) throw new Problem('invalid-reply-to');
  return id;
}

/** Returns network ids (JIDs). @throws Problem `validation-error` */
function readMentions(mentions: string[], { kind }: Recipient): string[] {
  const found = mentions.map(parseRecipient);
  const errors = found.flatMap((recipient, index) =>
    recipient?.kind === 'contact' || (mentions[index] === EVERYBODY && kind === 'group')
      ? []
      : [
          {
            path: `mentions.${index}`,
            code: 'custom',
            message: `must be a phone, the network id of a contact, or in a group "${EVERYBODY}"`,
          },
        ],
  );
  if (errors.length > 0) throw new Problem('validation-error', { errors });
  return found.map((recipient) => (recipient ? toNetworkId(recipient.name) : EVERYBODY));
}
