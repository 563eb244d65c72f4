import type { proto } from '@whiskeysockets/baileys';

type Text = string | null | undefined;

interface Kind {
  kind: string;
  text?: Text;
  /** A message inside, which may have a text and a quote. */
  inner?: proto.IMessage | null | undefined;
}

type Kinds = {
  readonly [Field in keyof proto.IMessage]: (content: NonNullable<proto.IMessage[Field]>) => Kind;
};

const invitation = (text: Text): Kind => ({ kind: 'invitation', text });

/** Content that contacts see and that has no type of its own. */
const KINDS: Kinds = {
  orderMessage: ({ message, orderTitle }) => ({ kind: 'order', text: message || orderTitle }),
  productMessage: ({ body, product }) => ({ kind: 'product', text: body || product?.title }),
  invoiceMessage: ({ note }) => ({ kind: 'invoice', text: note }),
  sendPaymentMessage: ({ noteMessage }) => ({ kind: 'payment', inner: noteMessage }),
  requestPaymentMessage: ({ noteMessage }) => ({ kind: 'payment_request', inner: noteMessage }),
  declinePaymentRequestMessage: () => ({ kind: 'payment_declined' }),
  cancelPaymentRequestMessage: () => ({ kind: 'payment_canceled' }),
  paymentInviteMessage: () => ({ kind: 'payment_invitation' }),
  groupInviteMessage: ({ caption, groupName }) => invitation(caption || groupName),
  newsletterAdminInviteMessage: ({ caption, newsletterName }) => invitation(caption || newsletterName),
  newsletterFollowerInviteMessageV2: ({ caption, newsletterName }) => invitation(caption || newsletterName),
  eventMessage: ({ name }) => ({ kind: 'event', text: name }),
  encEventResponseMessage: () => ({ kind: 'event_response' }),
  scheduledCallCreationMessage: ({ title }) => ({ kind: 'scheduled_call', text: title }),
  scheduledCallEditMessage: () => ({ kind: 'scheduled_call' }),
  call: () => ({ kind: 'call' }),
  callLogMesssage: () => ({ kind: 'call' }),
  bcallMessage: ({ caption }) => ({ kind: 'call', text: caption }),
  chat: ({ displayName }) => ({ kind: 'chat', text: displayName }),
  highlyStructuredMessage: ({ hydratedHsm, params }) => ({
    kind: 'template',
    text: hydratedHsm?.hydratedTemplate?.hydratedContentText ?? params?.join(' '),
  }),
  stickerPackMessage: ({ caption, name }) => ({ kind: 'sticker_pack', text: caption || name }),
  commentMessage: ({ message }) => ({ kind: 'comment', inner: message }),
  encCommentMessage: () => ({ kind: 'comment' }),
  pinInChatMessage: () => ({ kind: 'pin' }),
  keepInChatMessage: () => ({ kind: 'keep' }),
  placeholderMessage: () => ({ kind: 'placeholder' }),
  pollResultSnapshotMessage: ({ name }) => ({ kind: 'poll_result', text: name }),
  pollResultSnapshotMessageV3: ({ name }) => ({ kind: 'poll_result', text: name }),
  statusNotificationMessage: () => ({ kind: 'status_notification' }),
  statusQuestionAnswerMessage: ({ text }) => ({ kind: 'status_answer', text }),
  questionResponseMessage: ({ text }) => ({ kind: 'question_response', text }),
  statusQuotedMessage: ({ text }) => ({ kind: 'status_quote', text }),
  statusStickerInteractionMessage: () => ({ kind: 'status_sticker' }),
  requestPhoneNumberMessage: () => ({ kind: 'phone_number_request' }),
  richResponseMessage: ({ submessages }) => ({
    kind: 'ai_response',
    text: submessages?.map(({ messageText }) => messageText ?? '').join('\n'),
  }),
};
const FIELDS = Object.keys(KINDS) as (keyof proto.IMessage)[];

/** Null when the message has no such content. */
export function parseKind(message: proto.IMessage): Kind | null {
  const field = FIELDS.find((one) => message[one]);
  return field ? (KINDS[field] as (content: unknown) => Kind)(message[field]) : null;
}

/** Fields that no app ever shows. */
const INVISIBLE = new Set<string>([
  'messageContextInfo',
  'senderKeyDistributionMessage',
  'fastRatchetKeySenderKeyDistributionMessage',
  'protocolMessage',
  'reactionMessage',
  'encReactionMessage',
  'pollUpdateMessage',
  'secretEncryptedMessage',
  'messageHistoryBundle',
  'messageHistoryNotice',
  'stickerSyncRmrMessage',
  // The number of pictures that follow; each is a message of its own.
  'albumMessage',
]);

export function isInvisible(message: proto.IMessage): boolean {
  return Object.entries(message).every(([field, content]) => !content || INVISIBLE.has(field));
}

/** Whether apps know what to do with the message: a change of an earlier one, a setting. It then has no other content. */
export const isForApps = (message: proto.IMessage): boolean =>
  Object.keys(message).some((field) => INVISIBLE.has(field) && !ENVELOPE.has(field));

/** Fields that come beside the content. */
const ENVELOPE = new Set([
  'messageContextInfo',
  'senderKeyDistributionMessage',
  'fastRatchetKeySenderKeyDistributionMessage',
]);

/** A change that could not be read, for the counter of ignored messages; null for messages between apps. */
export function findUnread(
  message: proto.IMessage,
): 'unread_vote' | 'unread_edit' | 'unread_reaction' | null {
  if (message.pollUpdateMessage) return 'unread_vote';
  if (message.secretEncryptedMessage ?? message.protocolMessage?.editedMessage) return 'unread_edit';
  return message.encReactionMessage ? 'unread_reaction' : null;
}
