import { MESSAGE_TYPES } from '@gwk/core/resources/message';
import { idOut, idText, PageQuery, text, Username } from '@gwk/core/resources/common';
import { MESSAGE_STATUSES } from '@gwk/core/states';
import { z } from 'zod';

/** Conversations and the people of an account. */
const KnownPerson = z.object({
  id: z.string().meta({ description: 'Network id, as in events.', examples: ['101234567890123@lid'] }),
  phone: z.string().nullable(),
  username: Username.nullable(),
  name: z.string().nullable(),
});

export const ConversationOut = z.object({
  id: idOut('conversation'),
  instance_id: idOut('instance'),
  kind: z.enum(['contact', 'group', 'other']),
  contact: KnownPerson.nullable(),
  group: z
    .object({
      id: z.string().meta({ description: 'Network id.', examples: ['120363041234567890@g.us'] }),
      subject: z
        .string()
        .nullable()
        .meta({ description: 'Null until the instance reports the group in an event or a list of groups.' }),
    })
    .nullable(),
  active_at: z.iso.datetime(),
  last_message: z
    .object({
      id: idOut('message'),
      direction: z.enum(['inbound', 'outbound']),
      type: z.enum([...MESSAGE_TYPES, 'other']),
      status: z.enum(MESSAGE_STATUSES),
      created_at: z.iso.datetime(),
    })
    .nullable()
    .meta({ description: 'Null: it is older than messages are kept.' }),
  unread_count: z.int().min(0).meta({ description: 'Messages received since the last read mark.' }),
  opted_out: z.boolean(),
});
export type ConversationOut = z.infer<typeof ConversationOut>;

export const ContactOut = KnownPerson.extend({
  opted_out: z.boolean(),
  first_contact_at: z.iso.datetime(),
  last_contact_at: z.iso.datetime(),
});
export type ContactOut = z.infer<typeof ContactOut>;

const MAX_SEARCH = 100;

export const ConversationListQuery = PageQuery.extend({
  instance_id: idText().optional(),
  search: text(1, MAX_SEARCH).optional().meta({
    description: 'A part of the name, username or group subject, or at least 3 digits of the phone number.',
  }),
});
