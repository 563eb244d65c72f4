import { EventEmitter } from 'node:events';
import type { BinaryNode, GroupMetadata } from '@whiskeysockets/baileys';
import { GroupDirectory } from './group-directory.js';

const GROUP = '120363000000000001@g.us';
const OWN = '1@lid';

function metadata(more: Partial<GroupMetadata> = {}): GroupMetadata {
  const participants = [
    { id: OWN, admin: null },
    { id: '2@lid', phoneNumber: '552@s.whatsapp.net' },
  ];
  return {
    id: GROUP,
    subject: 'Team',
    addressingMode: 'lid' as never,
    owner: undefined,
    participants,
    ...more,
  };
}

function node(tag: string, attrs: Record<string, string> = {}, content?: BinaryNode['content']): BinaryNode {
  return { tag, attrs, ...(content !== undefined && { content }) };
}

const members = (tag: string, ...ids: string[]): BinaryNode =>
  node(
    tag,
    {},
    ids.map((jid) => node('participant', { jid })),
  );

/** A directory and a network that answers with `answers` in turn. */
function stage(...answers: (GroupMetadata | Error | Promise<GroupMetadata>)[]) {
  const ws = new EventEmitter();
  let queries = 0;
  const groupMetadata = async (): Promise<GroupMetadata> => {
    const answer = answers[Math.min(queries++, answers.length - 1)]!;
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const directory = new GroupDirectory({ ws, groupMetadata } as never, (jid) => jid === OWN);
  const notify = (child: BinaryNode, attrs: Record<string, string> = {}): void =>
    void ws.emit('CB:notification,type:w:gp2', node('notification', { from: GROUP, ...attrs }, [child]));
  const dirty = () => ws.emit('CB:ib,,dirty', node('ib', {}, [node('dirty', { type: 'groups' })]));
  return { directory, notify, dirty, queries: () => queries };
}

const refusal = (code: number): Error => Object.assign(new Error('refused'), { data: code });

test('asks the network once for concurrent and later users', async () => {
  const { directory, queries } = stage(metadata());
  await Promise.all([directory.find(GROUP), directory.find(GROUP)]);
  await directory.find(GROUP);
  expect(queries()).toBe(1);
});

describe('a notice changes what is known:', () => {
  const applied: [string, BinaryNode, Partial<GroupMetadata>][] = [
    ['a member joins', members('add', '3@lid'), { participants: [...metadata().participants, { id: '3@lid', admin: null }] }], // prettier-ignore
    ['a member joins twice', members('add', '2@lid'), { participants: [metadata().participants[0]!, { id: '2@lid', admin: null }] }], // prettier-ignore
    ['a member is removed', members('remove', '2@lid'), { participants: [metadata().participants[0]!] }],
    ['a member is named by phone', members('remove', '552@s.whatsapp.net'), { participants: [metadata().participants[0]!] }], // prettier-ignore
    ['the number is promoted', members('promote', OWN), { participants: [{ id: OWN, admin: 'admin' }, metadata().participants[1]!] }], // prettier-ignore
    ['the number is demoted', members('demote', OWN), { participants: [{ id: OWN, admin: null }, metadata().participants[1]!] }], // prettier-ignore
    ['the subject', node('subject', { subject: 'New' }), { subject: 'New' }],
    ['the description', node('description', {}, [node('body', {}, Buffer.from('é'))]), { desc: 'é' }],
    ['only admins may send', node('announcement'), { announce: true }],
    ['everybody may send', node('not_announcement'), { announce: false }],
    ['messages disappear', node('ephemeral', { expiration: '86400' }), { ephemeralDuration: 86_400 }],
    ['messages stay', node('not_ephemeral'), { ephemeralDuration: 0 }],
    ['an invitation link', node('invite', { code: 'x' }), {}],
  ];
  test.each(applied)('%s', async (_, notice, change) => {
    const { directory, notify, queries } = stage(metadata());
    await directory.find(GROUP);
    notify(notice);
    expect(await directory.find(GROUP)).toEqual(metadata(change));
    expect(queries()).toBe(1);
  });

  const unclear: [string, BinaryNode, Record<string, string>][] = [
    ['the number joins again', members('add', OWN), {}],
    ['the number is removed', members('remove', OWN), {}],
    ['somebody unknown is removed', members('remove', '9@lid'), {}],
    ['somebody leaves by an unknown id', members('leave', '559@s.whatsapp.net'), {}],
    ['somebody unknown is promoted', members('promote', '9@lid'), {}],
    ['a member has a new number', members('modify', '2@lid'), {}],
    ['an unknown kind', node('linked_groups'), {}],
    ['a broken timer', node('ephemeral', { expiration: 'soon' }), {}],
    ['the group changes its addresses', node('invite'), { addressing_mode: 'pn' }],
  ];
  test.each(unclear)('%s: asks again', async (_, notice, attrs) => {
    const { directory, notify, queries } = stage(metadata());
    await directory.find(GROUP);
    notify(notice, attrs);
    await directory.find(GROUP);
    expect(queries()).toBe(2);
  });
});

test('asks again when a notice comes while the network answers', async () => {
  const { promise, resolve } = Promise.withResolvers<GroupMetadata>();
  const { directory, notify, queries } = stage(promise, metadata({ subject: 'New' }));
  const found = directory.find(GROUP);
  notify(node('subject', { subject: 'New' }));
  resolve(metadata());
  expect(await found).toMatchObject({ subject: 'New' });
  expect(queries()).toBe(2);
});

test('asks again when the network has lost notices', async () => {
  const { directory, dirty, queries } = stage(metadata());
  await directory.find(GROUP);
  dirty();
  await directory.find(GROUP);
  expect(queries()).toBe(2);
});

test('forgets the group used longest ago when there are too many members', async () => {
  const large = metadata({ participants: Array.from({ length: 9_000 }, (_, at) => ({ id: `${at}@lid` })) });
  const { directory, queries } = stage(large);
  for (const jid of ['a', 'b', 'a', 'c', 'a']) await directory.find(`${jid}@g.us`);
  expect(queries()).toBe(3);
  expect(directory.peek('b@g.us')).toBeUndefined();
});

describe('the network refuses to show the group:', () => {
  test.each([
    [403, 'wa_error', 'not a member'],
    [401, 'wa_error', 'not a member'],
    [404, 'recipient_not_on_whatsapp', 'does not exist'],
  ])('%d is final and asked once', async (code, failure, text) => {
    const { directory, notify, queries } = stage(refusal(code), refusal(code), metadata());
    const refused = {
      code: failure,
      text: expect.stringContaining(text) as string,
      certain: true,
      retriable: false,
    };
    await expect(directory.find(GROUP)).rejects.toMatchObject(refused);
    await expect(directory.find(GROUP)).rejects.toMatchObject(refused);
    expect(queries()).toBe(1);
    notify(members('add', OWN));
    await expect(directory.find(GROUP)).rejects.toBeDefined();
    expect(queries()).toBe(2);
  });

  test.each([429, 500, undefined])('%p is asked again', async (code) => {
    const { directory } = stage(Object.assign(new Error('busy'), { data: code }), metadata());
    await expect(directory.find(GROUP)).rejects.toMatchObject({ retriable: true });
    expect(await directory.find(GROUP)).toMatchObject({ subject: 'Team' });
  });
});

describe('a group where only admins may send', () => {
  test.each<[string, GroupMetadata['participants'], boolean]>([
    ['refuses a member', [{ id: OWN, admin: null }], false],
    ['refuses a member listed by phone', [{ id: '9@s.whatsapp.net', lid: OWN, admin: null }], false],
    ['accepts an admin', [{ id: OWN, admin: 'admin' }], true],
    ['accepts a member who is not listed', [], true],
  ])('%s', async (_, participants, accepted) => {
    const { directory } = stage(metadata({ announce: true, participants }));
    const checked = directory.requireMaySend(GROUP);
    if (accepted) await expect(checked).resolves.toBeUndefined();
    else await expect(checked).rejects.toMatchObject({ code: 'wa_error', text: expect.stringContaining('admins') as string }); // prettier-ignore
  });
});
