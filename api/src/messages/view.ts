import { toPublicId } from '@gwk/core/ids/ids';
import { MessageOut } from '@gwk/core/resources/message';
import type { Language } from '@gwk/core/language';
import { FAILURE_TEXTS, hasLeft, type FailureCode } from '@gwk/core/states';
import { Prisma, type Message } from '../generated/prisma/client.js';
import { toField } from '../database/model-columns.js';
import { rowView, type ShownFields } from '../http/row-view.js';

/** The columns that a response shows. */
export type ListedMessage = Pick<
  Message,
  Exclude<ShownFields<MessageOut, Message>, 'conversationId'> | 'errorCode' | 'errorMessage'
> & {
  /** Undefined or null: they were not read. */
  conversationId?: string | null;
  lid?: string | undefined;
};

export const LISTED_FIELDS = [
  ...Object.keys(MessageOut.shape)
    .map(toField)
    .filter((field) => field in Prisma.MessageScalarFieldEnum),
  'errorCode',
  'errorMessage',
  'conversationId',
];

type NullableFields = {
  [Field in keyof ListedMessage]-?: null extends ListedMessage[Field] ? Field : never;
}[keyof ListedMessage];

/** The fields that are null until something happens to the message. */
export const UNSENT = Object.fromEntries(LISTED_FIELDS.map((field) => [field, null])) as Pick<
  ListedMessage,
  NullableFields
>;

export const messageOut = rowView<MessageOut, ListedMessage>(MessageOut, {
  id: ({ id }) => toPublicId('message', id),
  lid: ({ lid }) => lid,
  conversation_id: ({ conversationId }) =>
    conversationId ? toPublicId('conversation', conversationId) : undefined,
  instance_id: ({ instanceId }) => toPublicId('instance', instanceId),
  // The id exists from acceptance on. It is shown once the network has accepted the message.
  wa_message_id: ({ status, waMessageId }) => (hasLeft(status) ? waMessageId : null),
  error: ({ errorCode, errorMessage }) =>
    errorCode === null ? null : { code: errorCode as FailureCode, message: errorMessage },
  scheduled_for: ({ scheduledFor }) => scheduledFor?.toISOString(),
});

/** Shows a failure in words of the language, unless more than its code is known. */
export const localMessageOut =
  (language: Language) =>
  (row: ListedMessage): MessageOut => {
    const { error, ...shown } = messageOut(row);
    const message = error && (error.message ?? FAILURE_TEXTS[error.code][language]);
    return { ...shown, error: error && { ...error, message } };
  };
