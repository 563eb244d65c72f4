import { z } from 'zod';
import { Username } from './common.js';

/** Operations on the live connection of an instance: contact checks, read marks, presence. */
export const ContactCheckOut = z.object({
  /** Null: the person was asked for by the id, and the phone number is unknown. */
  phone: z.string().nullable(),
  exists: z.boolean(),
  /** Network id of the phone number, or the LID if that is unknown. */
  jid: z.string().nullable(),
  /** Null: it is unknown. */
  lid: z.string().nullable(),
  /** Key of the person: the LID if it is known, else `jid`. */
  id: z.string().nullable(),
  /** As the network last stated it. */
  username: Username.nullable(),
});
export type ContactCheckOut = z.infer<typeof ContactCheckOut>;

export const MAX_READ_MARKS = 200;

export const ReadMarks = z.strictObject({
  wa_message_ids: z.array(z.string().min(1).max(200)).min(1).max(MAX_READ_MARKS),
});
export type ReadMarks = z.infer<typeof ReadMarks>;

export const PRESENCES = ['typing', 'recording', 'paused'] as const;
export type Presence = (typeof PRESENCES)[number];

export const PresenceUpdate = z.strictObject({ state: z.enum(PRESENCES) });
export type PresenceUpdate = z.infer<typeof PresenceUpdate>;
