import { z } from 'zod';
import { idOut, text, visibleText } from '@gwk/core/resources/common';
import { LANGUAGES, personName } from './session.js';

/** Alert contacts of an account. */
export const ALERT_CHANNELS = ['email', 'whatsapp'] as const;
export type AlertChannel = (typeof ALERT_CHANNELS)[number];

/** Incidents that gwk reports to contacts. */
export const INCIDENT_KINDS = ['logged_out', 'banned', 'down', 'webhook_disabled'] as const;
export type IncidentKind = (typeof INCIDENT_KINDS)[number];

export const MAX_ALERT_CONTACTS = 10;

export const AlertContactCreate = z.strictObject({
  name: personName(),
  channel: z.enum(ALERT_CHANNELS).meta({ examples: ['email'] }),
  address: visibleText(254).meta({
    examples: ['ana@example.com', '5511987654321'],
    description: 'An e-mail, or a phone number with country code.',
  }),
  language: z.enum(LANGUAGES).meta({ examples: ['pt-BR'] }),
});

export const AlertContactOut = z.object({
  id: idOut('contact'),
  name: z.string(),
  channel: z.enum(ALERT_CHANNELS),
  address: z.string(),
  language: z.enum(LANGUAGES),
  verified_at: z.iso.datetime().nullable().meta({ description: 'Null: gwk sends no alerts to it yet.' }),
  created_at: z.iso.datetime(),
});
export type AlertContactOut = z.infer<typeof AlertContactOut>;

export const AlertContactList = z.object({
  data: z.array(AlertContactOut),
  channels: z
    .object({ email: z.boolean(), whatsapp: z.boolean() })
    .meta({ description: 'Channels that can send now: an SMTP server, a connected number of the account.' }),
});

export const AlertCode = z.strictObject({
  code: text(1, 20).meta({ examples: ['123456'], description: 'The code that the contact received.' }),
});
