import { toPublicId } from '@gwk/core/ids/ids';
import type { CallNotice, GroupNotice, Notice, NoticePerson } from '@gwk/core/protocol/notices';
import { pairNames, parseRecipient } from '@gwk/core/ids/recipients';
import type { CallReceivedData, EventPerson, GroupUpdatedData } from '@gwk/core/resources/event-data';
import { GROUP_CHANGES } from '@gwk/core/resources/event-data';
import { identify, type ContactNames, type EventDraft, type InstanceSubject } from '../../events/emit.js';

/** Finds the ids of a contact as this instance knows them, by its name. */
export type FindNames = (name: string) => ContactNames | undefined;

const LISTS = ['joined', 'left', 'promoted', 'demoted'] as const;
const FIELDS = Object.keys(GROUP_CHANGES) as (keyof typeof GROUP_CHANGES)[];

/** Name under which a notice is recognised when it comes again. */
export function nameNotice(notice: Notice): string {
  return `${notice.kind} ${notice.kind === 'call' ? notice.from.id : notice.chat} ${notice.id}`;
}

/** All people of a notice. */
export function listPeople(notice: Notice): NoticePerson[] {
  const from = notice.from ? [notice.from] : [];
  return notice.kind === 'call' ? from : [...from, ...LISTS.flatMap((list) => notice[list] ?? [])];
}

export function noticeEvent(instance: InstanceSubject, notice: Notice, findNames: FindNames): EventDraft {
  const about = {
    instance_id: toPublicId('instance', instance.instanceId),
    // Not in the future, or later events of the list would seem earlier.
    timestamp: new Date(Math.min(Date.parse(notice.at), Date.now())).toISOString(),
  };
  return notice.kind === 'call'
    ? { ...instance, type: 'call.received', data: { ...about, ...callData(notice, findNames) } }
    : { ...instance, type: 'group.updated', data: { ...about, ...groupData(notice, findNames) } };
}

type About = 'instance_id' | 'timestamp';

function callData(notice: CallNotice, findNames: FindNames): Omit<CallReceivedData, About> {
  const { id, from, chat, video, group, missed, rejected } = notice;
  return {
    call_id: id,
    from: describePerson(from, findNames),
    video,
    group,
    ...(chat !== null && { chat: { id: chat, is_group: true } }),
    missed,
    rejected,
  };
}

function groupData(notice: GroupNotice, findNames: FindNames): Omit<GroupUpdatedData, About> {
  const { chat, from, from_me } = notice;
  const lists = LISTS.flatMap((list) =>
    notice[list] ? [[list, notice[list].map((person) => describePerson(person, findNames))] as const] : [],
  );
  const changes = FIELDS.flatMap((field) =>
    notice[field] === undefined ? [] : [[field, notice[field]] as const],
  );
  return {
    chat: { id: chat, is_group: true },
    ...(from && { from: describePerson(from, findNames) }),
    from_me,
    ...(Object.fromEntries([...lists, ...changes]) as Partial<GroupUpdatedData>),
  };
}

/** The ids that the notice states come first: the newest that this instance knows. */
function describePerson({ id, alt, name, ...stated }: NoticePerson, findNames: FindNames): EventPerson {
  const known = findNames(parseRecipient(id)?.name ?? id);
  const names = alt === null ? known : pairNames(id, alt);
  const username = stated.username ?? known?.username ?? null;
  return { ...identify(id, names ?? { lid: null, phone: null }), username, name };
}
