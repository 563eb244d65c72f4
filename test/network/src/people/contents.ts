import { proto } from '@whiskeysockets/baileys';

/** Wrappers in which apps put a message. Only the inner message counts. */
const WRAPPERS = [
  'ephemeralMessage',
  'viewOnceMessage',
  'viewOnceMessageV2',
  'viewOnceMessageV2Extension',
  'documentWithCaptionMessage',
  'editedMessage',
  'botInvokeMessage',
  'associatedChildMessage',
] as const;

export function unwrap(message: proto.IMessage | null | undefined): proto.IMessage | undefined {
  let inner = message ?? undefined;
  for (let depth = 0; inner && depth < 5; depth++) {
    const holder = inner;
    const wrapper = WRAPPERS.find((name) => holder[name]?.message);
    if (!wrapper) return inner;
    inner = holder[wrapper]?.message ?? undefined;
  }
  return inner;
}

/** Location of the readable text in each message type. */
const TEXTS: ((message: proto.IMessage) => string | null | undefined)[] = [
  ({ conversation }) => conversation,
  ({ extendedTextMessage }) => extendedTextMessage?.text,
  ({ imageMessage }) => imageMessage?.caption,
  ({ videoMessage }) => videoMessage?.caption,
  ({ documentMessage }) => documentMessage?.caption,
  ({ interactiveMessage }) => interactiveMessage?.body?.text,
  ({ buttonsMessage }) => buttonsMessage?.contentText,
  ({ listMessage }) => listMessage?.description,
  ({ pollCreationMessageV3 }) => pollCreationMessageV3?.name,
  ({ pollCreationMessage }) => pollCreationMessage?.name,
  ({ reactionMessage }) => reactionMessage?.text,
  ({ locationMessage }) => locationMessage?.name,
  ({ contactMessage }) => contactMessage?.displayName,
  ({ protocolMessage }) => textOfMessage(protocolMessage?.editedMessage),
];

/** The readable text of a message of any type. */
export function textOfMessage(message: proto.IMessage | null | undefined): string | undefined {
  const inner = unwrap(message);
  if (!inner) return undefined;
  for (const read of TEXTS) {
    const text = read(inner);
    if (text) return text;
  }
  return undefined;
}

/** Parses a message in JSON form: bytes in base64, enumerations by name or number. */
export function messageFromJson(json: unknown): proto.IMessage {
  return proto.Message.fromObject(json as Record<string, unknown>);
}
