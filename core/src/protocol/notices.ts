import { z } from 'zod';
import { Username } from '../resources/common.js';
import { GROUP_CHANGES } from '../resources/event-data.js';
import { MAX_NOTICE_MEMBERS } from './sizes.js';
import { time } from './inbound.js';

// Calls and changes of groups, as an engine reports them to the API (engine.ts).

const networkId = () => z.string().min(1).max(100);

const Person = z.object({
  /** Network id. */
  id: networkId(),
  /** The other id, if the network sends both the phone number and the LID. */
  alt: networkId().nullable(),
  name: z.string().max(300).nullable(),
  /** If the network states it. */
  username: Username.optional(),
});
export type NoticePerson = z.infer<typeof Person>;

const people = () => z.array(Person).max(MAX_NOTICE_MEMBERS).optional();

/** Repeats have the same id, of the same caller. */
const Call = z.object({
  kind: z.literal('call'),
  id: z.string().min(1).max(200),
  at: time(),
  from: Person,
  video: z.boolean(),
  group: z.boolean(),
  /** Network id of the group, if the network names it. */
  chat: networkId().nullable(),
  /** The call came while the instance was offline. */
  missed: z.boolean(),
  /** The engine has rejected it, as the policy says. */
  rejected: z.boolean(),
});
export type CallNotice = z.infer<typeof Call>;

/** Repeats have the same id, in the same group. Fields without a change are absent. */
const GroupChange = z.object({
  kind: z.literal('group'),
  id: z.string().min(1).max(200),
  at: time(),
  chat: networkId(),
  /** The author; null if the network does not say. */
  from: Person.nullable(),
  from_me: z.boolean(),
  joined: people(),
  left: people(),
  promoted: people(),
  demoted: people(),
  ...GROUP_CHANGES,
});
export type GroupNotice = z.infer<typeof GroupChange>;

export const Notice = z.discriminatedUnion('kind', [Call, GroupChange]);
export type Notice = z.infer<typeof Notice>;
