import { decideStatus, type ClaimedFacts, type StatusUpdate } from './decide-status.js';

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 12, 0, second));
const CREATED = at(0);
const NOW = at(50);

const message = (given: Partial<ClaimedFacts>): ClaimedFacts => ({
  accountId: 'account',
  instanceId: '01890000-0000-7000-8000-000000000001',
  conversationId: '01890000-0000-7000-8000-000000000003',
  id: '01890000-0000-7000-8000-000000000002',
  waMessageId: '3EB0',
  groupId: null,
  to: '5511900000000',
  lid: null,
  phone: null,
  username: null,
  version: 3,
  scheduledFor: null,
  createdAt: CREATED,
  status: 'sending',
  errorCode: null,
  errorMessage: null,
  renderedAs: null,
  played: false,
  sentAt: null,
  deliveredAt: null,
  readAt: null,
  failedAt: null,
  claimedByCaller: true,
  claimId: 'claim',
  claimEpoch: 1,
  claimHolder: 'holder',
  attemptedAt: at(1),
  ...given,
});

const sent = (second = 10): StatusUpdate => ({
  kind: 'sent',
  at: at(second).toISOString(),
  rendered_as: null,
});
const receipt = (status: 'delivered' | 'read', second = 20, played = false): StatusUpdate => {
  return { kind: 'receipt', at: at(second).toISOString(), status, played };
};
const returned = (unsent = false, claimId = 'claim'): StatusUpdate => ({
  kind: 'returned',
  claim_id: claimId,
  unsent,
});
const failed = (code: 'wa_error' | 'timeout' = 'wa_error'): StatusUpdate => {
  return { kind: 'failed', at: at(10).toISOString(), error: { code, message: 'why' } };
};
const timedOut = {
  status: 'failed',
  errorCode: 'timeout',
  errorMessage: 'no answer',
  failedAt: at(9),
  claimedByCaller: false,
};

interface Case {
  name: string;
  before: Partial<ClaimedFacts>;
  updates: StatusUpdate[];
  /** Null: nothing changes. */
  then: { row: Partial<ClaimedFacts>; queue: string; events: string[] } | null;
}

const CASES: Case[] = [
  {
    name: 'marks a message sent when the network accepts its stanza',
    before: {},
    updates: [sent()],
    then: { row: { status: 'sent', sentAt: at(10) }, queue: 'finish', events: ['message.sent'] },
  },
  {
    name: 'ignores a second acceptance',
    before: { status: 'sent', claimedByCaller: false },
    updates: [sent()],
    then: null,
  },
  {
    name: 'marks a message sent although no lease claims it any more',
    before: { status: 'queued', claimedByCaller: false, attemptedAt: at(1) },
    updates: [sent()],
    then: { row: { status: 'sent' }, queue: 'finish', events: ['message.sent'] },
  },
  {
    name: 'corrects a timeout and clears its error after a late acceptance',
    before: timedOut as Partial<ClaimedFacts>,
    updates: [sent()],
    then: {
      row: { status: 'sent', errorCode: null, errorMessage: null, failedAt: null, sentAt: at(10) },
      queue: 'finish',
      events: ['message.sent'],
    },
  },
  {
    name: 'corrects a timeout after a late receipt, which implies that the message was sent',
    before: timedOut as Partial<ClaimedFacts>,
    updates: [receipt('read')],
    then: {
      row: { status: 'read', errorCode: null, sentAt: at(20), deliveredAt: at(20), readAt: at(20) },
      queue: 'finish',
      events: ['message.sent', 'message.status_updated read'],
    },
  },
  {
    name: 'corrects no failure other than a timeout',
    before: { status: 'failed', errorCode: 'canceled', claimedByCaller: false },
    updates: [sent(), receipt('delivered')],
    then: null,
  },
  {
    name: 'fails a message that the caller has claimed',
    before: {},
    updates: [failed()],
    then: {
      row: { status: 'failed', errorCode: 'wa_error', errorMessage: 'why', failedAt: at(10) },
      queue: 'finish',
      events: ['message.failed wa_error'],
    },
  },
  {
    name: 'reports a repeated failure once',
    before: {},
    updates: [failed(), failed()],
    then: { row: { status: 'failed' }, queue: 'finish', events: ['message.failed wa_error'] },
  },
  {
    name: 'ignores a failure of a message that another lease has claimed',
    before: { claimedByCaller: false },
    updates: [failed()],
    then: null,
  },
  {
    name: 'ignores a failure after the message was sent',
    before: { status: 'sent', claimedByCaller: false },
    updates: [failed()],
    then: null,
  },
  {
    name: 'requeues an unattempted message that is returned',
    before: { attemptedAt: null },
    updates: [returned()],
    then: { row: { status: 'queued' }, queue: 'return', events: [] },
  },
  {
    name: 'keeps a returned message that may have been sent as sending',
    before: { attemptedAt: at(1) },
    updates: [returned()],
    then: { row: { status: 'sending' }, queue: 'return', events: [] },
  },
  {
    name: 'requeues an attempted message that was certainly not sent',
    before: { attemptedAt: at(1) },
    updates: [returned(true)],
    then: { row: { status: 'queued', attemptedAt: null }, queue: 'return', events: [] },
  },
  {
    name: 'ignores a second return',
    before: { attemptedAt: null },
    updates: [returned(), returned()],
    then: { row: { status: 'queued' }, queue: 'return', events: [] },
  },
  {
    name: 'ignores a return of an earlier claim',
    before: { claimId: 'next claim', attemptedAt: null },
    updates: [returned(true)],
    then: null,
  },
  {
    name: 'ignores a return by a caller without the claim',
    before: { claimedByCaller: false },
    updates: [returned()],
    then: null,
  },
  {
    name: 'infers a lost acceptance from a receipt',
    before: {},
    updates: [receipt('delivered')],
    then: {
      row: { status: 'delivered', sentAt: at(20), deliveredAt: at(20), readAt: null },
      queue: 'finish',
      events: ['message.sent', 'message.status_updated delivered'],
    },
  },
  {
    name: 'sets the missing delivery time of a read message',
    before: { status: 'sent', sentAt: at(5), claimedByCaller: false },
    updates: [receipt('read')],
    then: {
      row: { status: 'read', sentAt: at(5), deliveredAt: at(20), readAt: at(20) },
      queue: 'keep',
      events: ['message.status_updated read'],
    },
  },
  {
    name: 'dates no step before the one that it follows',
    before: { status: 'sent', sentAt: at(21), claimedByCaller: false },
    updates: [receipt('delivered'), receipt('read', 19)],
    then: {
      row: { status: 'read', sentAt: at(21), deliveredAt: at(21), readAt: at(21) },
      queue: 'keep',
      events: ['message.status_updated delivered', 'message.status_updated read'],
    },
  },
  {
    name: 'keeps the delivery time of a message that is read later',
    before: { status: 'delivered', sentAt: at(5), deliveredAt: at(6), claimedByCaller: false },
    updates: [receipt('read')],
    then: {
      row: { deliveredAt: at(6), readAt: at(20) },
      queue: 'keep',
      events: ['message.status_updated read'],
    },
  },
  {
    name: 'ignores delivered after read',
    before: { status: 'read', claimedByCaller: false },
    updates: [receipt('delivered')],
    then: null,
  },
  {
    name: 'emits one event each for acceptance, delivery and reading in one call',
    before: {},
    updates: [sent(), receipt('delivered', 11), receipt('read', 12)],
    then: {
      row: { status: 'read', sentAt: at(10), deliveredAt: at(11), readAt: at(12) },
      queue: 'finish',
      events: ['message.sent', 'message.status_updated delivered', 'message.status_updated read'],
    },
  },
  {
    name: 'reports once that a read voice message was played',
    before: { status: 'read', readAt: at(8), deliveredAt: at(8), claimedByCaller: false },
    updates: [receipt('read', 20, true), receipt('read', 21, true)],
    then: {
      row: { status: 'read', readAt: at(8), played: true },
      queue: 'keep',
      events: ['message.status_updated read played'],
    },
  },
  {
    name: 'limits a reported time to now',
    before: {},
    updates: [{ kind: 'sent', at: at(59).toISOString(), rendered_as: null }],
    then: { row: { sentAt: NOW }, queue: 'finish', events: ['message.sent'] },
  },
  {
    name: 'limits a reported time to the creation of the message',
    before: {},
    updates: [{ kind: 'sent', at: new Date(0).toISOString(), rendered_as: null }],
    then: { row: { sentAt: CREATED }, queue: 'finish', events: ['message.sent'] },
  },
  {
    name: 'keeps the rendering that was built',
    before: { renderedAs: 'native_flow_list' },
    updates: [{ kind: 'sent', at: at(10).toISOString(), rendered_as: 'text_menu' }],
    then: { row: { renderedAs: 'native_flow_list' }, queue: 'finish', events: ['message.sent'] },
  },
];

test.each(CASES)('$name', ({ before, updates, then }) => {
  const change = decideStatus(message(before), updates, NOW);
  if (then === null) {
    expect(change).toBeNull();
    return;
  }
  expect(change).toMatchObject({ facts: then.row, queue: then.queue });
  expect(change!.events.map(({ type, data }) => [type, detail(data)].filter(Boolean).join(' '))).toEqual(
    then.events,
  );
});

function detail(data: Record<string, unknown>): string {
  const { code } = (data['error'] ?? {}) as { code?: string };
  return [code, data['status'], data['played'] && 'played'].filter(Boolean).join(' ');
}

test('names the first member of a group that a message was delivered to, and that read it', () => {
  const by = (participant: string, update: StatusUpdate) => ({ ...update, participant }) as StatusUpdate;
  const updates = [
    by('2@lid', receipt('delivered')),
    by('3@lid', receipt('delivered')),
    by('3@lid', receipt('read')),
    by('2@lid', receipt('read')),
  ];
  const before = message({ status: 'sent', sentAt: at(5), groupId: '1@g.us', claimedByCaller: false });
  expect(decideStatus(before, updates, NOW)!.events.map(({ data }) => data)).toMatchObject([
    { status: 'delivered', participant: '2@lid' },
    { status: 'read', participant: '3@lid' },
  ]);
});

test('does not show the network id of a failed message', () => {
  const change = decideStatus(message({}), [failed()], NOW);
  expect(change!.events[0]!.data).toMatchObject({
    wa_message_id: null,
    error: { code: 'wa_error', message: 'why' },
  });
});
