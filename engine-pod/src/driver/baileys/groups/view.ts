import { jidDecode, type GroupMetadata, type GroupParticipant } from '@whiskeysockets/baileys';
import type { GroupDetailsOut, GroupMemberOut, GroupOut } from '@gwk/core/resources/group';
import { parseUsername } from '@gwk/core/ids/recipients';
import { namesOf } from './changes.js';

export function viewGroup(group: GroupMetadata, isOwn: (jid: string) => boolean): GroupOut {
  const { id, subject, announce, participants, isCommunity, linkedParent } = group;
  const own = participants.find((member) => namesOf(member).some(isOwn));
  return {
    jid: id,
    subject,
    announcement: announce ?? false,
    is_community: isCommunity ?? false,
    parent: linkedParent ?? null,
    size: participants.length,
    role: own ? roleOf(own) : null,
  };
}

export function viewDetails(group: GroupMetadata, isOwn: (jid: string) => boolean): GroupDetailsOut {
  const { desc: description = null, participants } = group;
  return { ...viewGroup(group, isOwn), description, members: participants.map(viewMember) };
}

function viewMember(member: GroupParticipant): GroupMemberOut {
  const names = namesOf(member).map((name) => jidDecode(name));
  const lid = names.find((name) => name?.server === 'lid')?.user;
  const phone = names.find((name) => name?.server === 's.whatsapp.net')?.user;
  return {
    lid: lid === undefined ? null : `${lid}@lid`,
    phone: phone ?? null,
    username: parseUsername(member.username),
    role: roleOf(member),
  };
}

const roleOf = ({ admin }: GroupParticipant): GroupMemberOut['role'] => admin ?? 'member';
