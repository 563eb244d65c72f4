import { ManualClock } from '@gwk/test/support/clock';
import { GroupList } from './group-list.js';

const OWN = '1@lid';
const team = {
  id: '120363000000000001@g.us',
  subject: 'Team',
  desc: 'not in a list',
  announce: true,
  participants: [{ id: OWN, admin: 'admin' }, { id: '552@s.whatsapp.net' }],
};

function stage(...answers: (object | Error)[]) {
  let queries = 0;
  const groupFetchAllParticipating = async () => {
    const answer = answers[Math.min(queries++, answers.length - 1)]!;
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const clock = new ManualClock();
  const list = new GroupList({ groupFetchAllParticipating } as never, (jid) => jid === OWN, clock);
  return { list, clock, queries: () => queries };
}

test('returns the groups without their members', async () => {
  const { list } = stage({ [team.id]: team });
  expect(await list.read()).toEqual([
    {
      ...{ jid: team.id, subject: 'Team', announcement: true, size: 2, role: 'admin' },
      ...{ is_community: false, parent: null },
    },
  ]);
});

test('asks the network once for concurrent and later readers, and again after 60 s', async () => {
  const { list, clock, queries } = stage({});
  await Promise.all([list.read(), list.read()]);
  clock.advance(59_999);
  await list.read();
  expect(queries()).toBe(1);
  clock.advance(1);
  await list.read();
  expect(queries()).toBe(2);
});

test('asks again after a failure', async () => {
  const { list, queries } = stage(new Error('timed out'), {});
  await expect(list.read()).rejects.toMatchObject({ retriable: true, certain: true });
  expect(await list.read()).toEqual([]);
  expect(queries()).toBe(2);
});
