import { getBinaryNodeChild, isJidGroup, type BinaryNode, type WASocket } from '@whiskeysockets/baileys';
import type { GroupNotice, NoticePerson } from '@gwk/core/protocol/notices';
import { MAX_NOTICE_MEMBERS } from '@gwk/core/protocol/sizes';
import { namesOf, readMembers } from '../groups/changes.js';
import { interceptEvent } from '../patches/socket-internals.js';
import { limitText } from '../receive/normalise/text.js';
import { namePerson, type NoticeReporter, type NoticeServices } from './reporter.js';
import { normaliseJid, readTime } from '../stanza-attrs.js';

type Member = ReturnType<typeof readMembers>[number];
type List = 'joined' | 'left' | 'promoted' | 'demoted';
/** The changes of one notice, before they are limited. */
type Changes = Pick<
  GroupNotice,
  'reason' | 'subject' | 'description' | 'announcement' | 'expires_in_s' | 'role'
> &
  Partial<Record<List, Member[]>>;

/** The context of a change: who made it, and who this number is. */
interface Context {
  /** All ids of the author that the notice states. */
  author: string[];
  isOwn: (jid: string) => boolean;
}
type Reader = (child: BinaryNode, context: Context) => Changes;

const MAX_SUBJECT = 1_000;
const MAX_DESCRIPTION = 5_000;
const MAX_ID = 200;

/** Each kind of notice that is reported. */
const READERS: Readonly<Record<string, Reader>> = {
  create: readCreation,
  add: readJoined,
  remove: readLeft,
  leave: readLeft,
  delete: () => ({ reason: 'delete', role: null }),
  promote: (child, context) => ({ promoted: readMembers(child), ...ownRole(child, context, 'admin') }),
  demote: (child, context) => ({ demoted: readMembers(child), ...ownRole(child, context, 'member') }),
  subject: ({ attrs: { subject } }) => (subject === undefined ? {} : { subject }),
  description: readDescription,
  announcement: () => ({ announcement: true }),
  not_announcement: () => ({ announcement: false }),
  ephemeral: ({ attrs }) => readTimer(Number(attrs['expiration'])),
  not_ephemeral: () => ({ expires_in_s: 0 }),
};

const isOnly = (members: Member[], { author }: Context): boolean =>
  members.length === 1 && namesOf(members[0]!).some((name) => author.includes(name));

/** Members who join by a link are their own authors. */
function readJoined(child: BinaryNode, context: Context): Changes {
  const joined = readMembers(child);
  const isInvited = child.attrs['reason'] === 'invite' || isOnly(joined, context);
  const own = findOwn(child, context);
  return { joined, reason: isInvited ? 'invite' : 'add', ...(own && { role: own.admin ?? 'member' }) };
}

function readLeft(child: BinaryNode, context: Context): Changes {
  const left = readMembers(child);
  const hasLeft = child.tag === 'leave' || isOnly(left, context);
  return { left, reason: hasLeft ? 'leave' : 'remove', ...(findOwn(child, context) && { role: null }) };
}

/** The number is in a group that it did not know: a new one, or one that it was added to. */
function readCreation(child: BinaryNode, context: Context): Changes {
  const group = getBinaryNodeChild(child, 'group');
  if (!group) return {};
  const own = findOwn(group, context);
  const description = getBinaryNodeChild(group, 'description');
  const { type, reason } = child.attrs;
  return {
    ...(own && { joined: [own] }),
    role: own?.admin ?? 'member',
    reason: type === 'new' ? 'create' : reason === 'invite' ? 'invite' : 'add',
    ...READERS['subject']!(group, context),
    ...(description && readDescription(description)),
  };
}

function readDescription(child: BinaryNode): Changes {
  const body = getBinaryNodeChild(child, 'body')?.content;
  const isText = typeof body === 'string' || body instanceof Uint8Array;
  return { description: isText ? Buffer.from(body).toString() : null };
}

const readTimer = (seconds: number): Changes =>
  Number.isInteger(seconds) && seconds >= 0 && seconds < 2 ** 31 ? { expires_in_s: seconds } : {};

const findOwn = (child: BinaryNode, { isOwn }: Context): Member | undefined =>
  readMembers(child).find((member) => namesOf(member).some(isOwn));

const ownRole = (child: BinaryNode, context: Context, role: 'admin' | 'member'): Changes =>
  findOwn(child, context) ? { role } : {};

/** Null if the notice changes nothing that is reported. */
export function parseGroupChange(
  { attrs, content }: BinaryNode,
  isOwn: (jid: string) => boolean,
): GroupNotice | null {
  const { from: chat, id, participant: author, participant_pn: pn, participant_lid: lid, t } = attrs;
  if (!isJidGroup(chat) || !id || id.length > MAX_ID) return null;
  const names = [author, pn, lid].flatMap((name) => (name === undefined ? [] : [normaliseJid(name)]));
  const context = { author: names, isOwn };
  const children = Array.isArray(content) ? content : [];
  const known = children.filter(({ tag }) => Object.hasOwn(READERS, tag));
  // A notice has one change, as far as is known.
  const changes = known.reduce<Changes>(
    (all, child) => ({ ...all, ...READERS[child.tag]!(child, context) }),
    {},
  );
  if (Object.keys(changes).length === 0) return null;
  const isMine = author !== undefined && isOwn(author);
  const by = isMine
    ? null
    : namePerson(author, pn ?? lid, {
        name: attrs['notify'],
        username: attrs['participant_username'],
      });
  return { kind: 'group', id, at: readTime(t), chat: chat!, from: by, from_me: isMine, ...limit(changes) };
}

function limit({
  subject,
  description,
  joined,
  left,
  promoted,
  demoted,
  ...rest
}: Changes): Partial<GroupNotice> {
  const lists = Object.entries({ joined, left, promoted, demoted }).flatMap(([name, members]) =>
    members ? [[name, members.flatMap(viewMember)] as const] : [],
  );
  const isTruncated =
    lists.some(([, people]) => people.length > MAX_NOTICE_MEMBERS) ||
    (subject?.length ?? 0) > MAX_SUBJECT ||
    (description?.length ?? 0) > MAX_DESCRIPTION;
  return {
    ...rest,
    ...Object.fromEntries(lists.map(([name, people]) => [name, people.slice(0, MAX_NOTICE_MEMBERS)])),
    ...(subject !== undefined && { subject: limitText(subject, MAX_SUBJECT) }),
    ...(description !== undefined && { description: description && limitText(description, MAX_DESCRIPTION) }),
    ...(isTruncated && { is_truncated: true }),
  };
}

function viewMember({ id, lid, phoneNumber, username }: Member): NoticePerson[] {
  const person = namePerson(id, phoneNumber ?? lid, { username });
  return person ? [person] : [];
}

/**
 * Stores the changes of groups before Baileys acknowledges their notices. It reads the stanza, because Baileys' events
 * come later and merge several notices.
 */
export function storeGroupChanges(
  socket: Pick<WASocket, 'ws'>,
  reporter: NoticeReporter,
  { isOwn, rejectsCalls }: NoticeServices,
): void {
  interceptEvent(socket, 'CB:notification', (stanza: BinaryNode, pass) => {
    const isReported = stanza.attrs['type'] === 'w:gp2' && rejectsCalls() !== undefined;
    const change = isReported ? parseGroupChange(stanza, isOwn) : null;
    if (!change) return void pass(stanza);
    reporter.store(change).then(
      () => pass(stanza),
      // The notice comes again with a new connection.
      () => undefined,
    );
  });
}
