import {
  getBinaryNodeChild,
  getBinaryNodeChildren,
  type BinaryNode,
  type GroupMetadata,
  type GroupParticipant,
} from '@whiskeysockets/baileys';

type GroupChange = (group: GroupMetadata, child: BinaryNode) => GroupMetadata | null;

const keep: GroupChange = (group) => group;

/** Each kind of notice. A kind that is not here may change anything. */
const CHANGES: Readonly<Record<string, GroupChange>> = {
  add: (group, child) => addMembers(group, readMembers(child)),
  remove: (group, child) => removeKnown(group, readMembers(child)),
  leave: (group, child) => removeKnown(group, readMembers(child)),
  promote: (group, child) => setRole(group, readMembers(child), 'admin'),
  demote: (group, child) => setRole(group, readMembers(child), null),
  subject: (group, { attrs }) =>
    attrs['subject'] === undefined ? null : { ...group, subject: attrs['subject'] },
  description: (group, child) => setDescription(group, child),
  announcement: (group) => ({ ...group, announce: true }),
  not_announcement: (group) => ({ ...group, announce: false }),
  ephemeral: (group, { attrs }) => setExpiration(group, Number(attrs['expiration'])),
  not_ephemeral: (group) => setExpiration(group, 0),
  locked: keep,
  unlocked: keep,
  invite: keep,
  revoke_invite: keep,
  member_add_mode: keep,
  membership_approval_mode: keep,
  created_membership_requests: keep,
  revoked_membership_requests: keep,
};

/**
 * Applies a notice of the network to what is known of a group.
 * @returns the new state, or null if the network must be asked again
 */
export function applyNotice(
  group: GroupMetadata,
  notice: BinaryNode,
  isOwn: (jid: string) => boolean,
): GroupMetadata | null {
  const { addressing_mode: mode } = notice.attrs;
  if (mode !== undefined && mode !== String(group.addressingMode)) return null;
  let changed: GroupMetadata | null = group;
  for (const child of Array.isArray(notice.content) ? notice.content : []) {
    if (changesOwnView(group, child, isOwn)) return null;
    changed = changed && (CHANGES[child.tag]?.(changed, child) ?? null);
  }
  return changed;
}

/** The number joined or left the group. In a community it sees other members while it is an admin. */
function changesOwnView(group: GroupMetadata, child: BinaryNode, isOwn: (jid: string) => boolean): boolean {
  const isChange =
    ['add', 'remove', 'leave'].includes(child.tag) ||
    (group.isCommunityAnnounce === true && ['promote', 'demote'].includes(child.tag));
  return isChange && readMembers(child).some((member) => namesOf(member).some(isOwn));
}

/** The members that a part of a notice or of a description lists. */
export function readMembers(child: BinaryNode): GroupParticipant[] {
  return getBinaryNodeChildren(child, 'participant').flatMap(({ attrs }) => {
    const { jid: id, phone_number: phoneNumber, lid } = attrs;
    if (id === undefined) return [];
    const username = attrs['participant_username'] ?? attrs['username'];
    const names = { ...(phoneNumber && { phoneNumber }), ...(lid && { lid }), ...(username && { username }) };
    return [{ id, ...names, admin: readRole(attrs['type']) }];
  });
}

function readRole(type: string | undefined): GroupParticipant['admin'] {
  return type === 'admin' || type === 'superadmin' ? type : null;
}

function addMembers(group: GroupMetadata, added: GroupParticipant[]): GroupMetadata {
  const kept = removeMembers(group, added);
  return { ...kept, participants: [...kept.participants, ...added] };
}

function removeMembers(group: GroupMetadata, removed: GroupParticipant[]): GroupMetadata {
  const ids = new Set(removed.flatMap(namesOf));
  return {
    ...group,
    participants: group.participants.filter((member) => !namesOf(member).some((id) => ids.has(id))),
  };
}

/** Null if a member is not known: it may be in the list by another id, and must get no further messages. */
function removeKnown(group: GroupMetadata, removed: GroupParticipant[]): GroupMetadata | null {
  const kept = removeMembers(group, removed);
  return group.participants.length - kept.participants.length < removed.length ? null : kept;
}

/** Null if a member is not known. */
function setRole(
  group: GroupMetadata,
  changed: GroupParticipant[],
  admin: GroupParticipant['admin'],
): GroupMetadata | null {
  const ids = new Set(changed.flatMap(namesOf));
  const found = group.participants.filter((member) => namesOf(member).some((id) => ids.has(id)));
  if (found.length < changed.length) return null;
  const participants = group.participants.map((member) =>
    found.includes(member) ? { ...member, admin } : member,
  );
  return { ...group, participants };
}

/** All addresses of a member. */
export function namesOf({ id, lid, phoneNumber }: GroupParticipant): string[] {
  return [id, lid, phoneNumber].filter((name) => name !== undefined);
}

function setDescription(group: GroupMetadata, child: BinaryNode): GroupMetadata {
  const body = getBinaryNodeChild(child, 'body')?.content;
  const changed = { ...group };
  delete changed.desc;
  if (body !== undefined) changed.desc = Buffer.from(body as Uint8Array).toString();
  return changed;
}

function setExpiration(group: GroupMetadata, seconds: number): GroupMetadata | null {
  return Number.isSafeInteger(seconds) ? { ...group, ephemeralDuration: seconds } : null;
}
