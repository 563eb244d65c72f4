import { decideChange, type Finding, type MessageFacts } from './decide-status.js';

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 12, 0, second));
const CREATED = at(0);
const NOW = at(50);

const message = (given: Partial<MessageFacts>): MessageFacts => ({
  subject: {
    accountId: 'account',
    instanceId: '01890000-0000-7000-8000-000000000001',
    messageId: '01890000-0000-7000-8000-000000000002',
    waMessageId: '3EB0',
    chat: { id: '5511900000000@s.whatsapp.net', is_group: false, phone: '5511900000000' },
  },
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
  held: true,
  claimId: 'claim',
  attempted: true,
  ...given,
});

const sent = (second = 10): Finding => ({ kind: 'sent', at: at(second), renderedAs: null });
const receipt = (status: 'delivered' | 'read', second = 20, played = false): Finding => {
  return { kind: 'receipt', at: at(second), status, played };
};
const returned = (unsent = false, claimId = 'claim'): Finding => ({ kind: 'returned', claimId, unsent });
const failed = (code: 'wa_error' | 'timeout' = 'wa_error'): Finding => {
  return { kind: 'failed', at: at(10), error: { code, message: 'why' } };
};
const timedOut = {
  status: 'failed',
  errorCode: 'timeout',
  errorMessage: 'no answer',
  failedAt: at(9),
  held: false,
};

interface Case {
  is: string;
  before: Partial<MessageFacts>;
  findings: Finding[];
  /** Null: nothing changes. */
  then: { row: Partial<MessageFacts>; queue: string; events: string[] } | null;
}

const CASES: Case[] = [
  {
    is: 'an accepted stanza makes it sent',
    before: {},
    findings: [sent()],
    then: { row: { status: 'sent', sentAt: at(10) }, queue: 'finish', events: ['message.sent'] },
  },
  {
    is: 'a second acceptance changes nothing',
    before: { status: 'sent', held: false },
    findings: [sent()],
    then: null,
  },
  {
    is: 'a stanza accepted of a message that nobody holds any more has left all the same',
    before: { status: 'queued', held: false, attempted: true },
    findings: [sent()],
    then: { row: { status: 'sent' }, queue: 'finish', events: ['message.sent'] },
  },
  {
    is: 'a late acceptance corrects a timeout, and its error is gone',
    before: timedOut as Partial<MessageFacts>,
    findings: [sent()],
    then: {
      row: { status: 'sent', errorCode: null, errorMessage: null, failedAt: null, sentAt: at(10) },
      queue: 'finish',
      events: ['message.sent'],
    },
  },
  {
    is: 'a late receipt corrects a timeout, and implies that it was sent',
    before: timedOut as Partial<MessageFacts>,
    findings: [receipt('read')],
    then: {
      row: { status: 'read', errorCode: null, sentAt: at(20), deliveredAt: at(20), readAt: at(20) },
      queue: 'finish',
      events: ['message.sent', 'message.status_updated read'],
    },
  },
  {
    is: 'an acceptance corrects no other failure',
    before: { status: 'failed', errorCode: 'canceled', held: false },
    findings: [sent(), receipt('delivered')],
    then: null,
  },
  {
    is: 'a failure of a held message ends it',
    before: {},
    findings: [failed()],
    then: {
      row: { status: 'failed', errorCode: 'wa_error', errorMessage: 'why', failedAt: at(10) },
      queue: 'finish',
      events: ['message.failed wa_error'],
    },
  },
  {
    is: 'a failure told twice is one failure',
    before: {},
    findings: [failed(), failed()],
    then: { row: { status: 'failed' }, queue: 'finish', events: ['message.failed wa_error'] },
  },
  {
    is: 'a failure of a message that another lease holds is not believed',
    before: { held: false },
    findings: [failed()],
    then: null,
  },
  {
    is: 'a failure after the message left changes nothing',
    before: { status: 'sent', held: false },
    findings: [failed()],
    then: null,
  },
  {
    is: 'an unsent message that is returned waits again',
    before: { attempted: false },
    findings: [returned()],
    then: { row: { status: 'queued' }, queue: 'return', events: [] },
  },
  {
    is: 'a returned message that may have left stays sending',
    before: { attempted: true },
    findings: [returned()],
    then: { row: { status: 'sending' }, queue: 'return', events: [] },
  },
  {
    is: 'a message that was built, and certainly never left, waits again',
    before: { attempted: true },
    findings: [returned(true)],
    then: { row: { status: 'queued', attempted: false }, queue: 'return', events: [] },
  },
  {
    is: 'a message returned twice is returned once',
    before: { attempted: false },
    findings: [returned(), returned()],
    then: { row: { status: 'queued' }, queue: 'return', events: [] },
  },
  {
    is: 'a message that is claimed anew is not returned by what was said of the claim before',
    before: { claimId: 'next claim', attempted: false },
    findings: [returned(true)],
    then: null,
  },
  {
    is: 'only the holder can return a message',
    before: { held: false },
    findings: [returned()],
    then: null,
  },
  {
    is: 'a receipt in place of a lost acceptance implies it',
    before: {},
    findings: [receipt('delivered')],
    then: {
      row: { status: 'delivered', sentAt: at(20), deliveredAt: at(20), readAt: null },
      queue: 'finish',
      events: ['message.sent', 'message.status_updated delivered'],
    },
  },
  {
    is: 'read fills the time of delivery',
    before: { status: 'sent', sentAt: at(5), held: false },
    findings: [receipt('read')],
    then: {
      row: { status: 'read', sentAt: at(5), deliveredAt: at(20), readAt: at(20) },
      queue: 'keep',
      events: ['message.status_updated read'],
    },
  },
  {
    is: 'read keeps the time of an earlier delivery',
    before: { status: 'delivered', sentAt: at(5), deliveredAt: at(6), held: false },
    findings: [receipt('read')],
    then: {
      row: { deliveredAt: at(6), readAt: at(20) },
      queue: 'keep',
      events: ['message.status_updated read'],
    },
  },
  {
    is: 'delivered after read changes nothing',
    before: { status: 'read', held: false },
    findings: [receipt('delivered')],
    then: null,
  },
  {
    is: 'acceptance, delivery and reading in one call give each its event',
    before: {},
    findings: [sent(), receipt('delivered', 11), receipt('read', 12)],
    then: {
      row: { status: 'read', sentAt: at(10), deliveredAt: at(11), readAt: at(12) },
      queue: 'finish',
      events: ['message.sent', 'message.status_updated delivered', 'message.status_updated read'],
    },
  },
  {
    is: 'a voice message heard after it was read is told once',
    before: { status: 'read', readAt: at(8), deliveredAt: at(8), held: false },
    findings: [receipt('read', 20, true), receipt('read', 21, true)],
    then: {
      row: { status: 'read', readAt: at(8), played: true },
      queue: 'keep',
      events: ['message.status_updated read played'],
    },
  },
  {
    is: 'a clock that is ahead is set right',
    before: {},
    findings: [{ kind: 'sent', at: at(59), renderedAs: null }],
    then: { row: { sentAt: NOW }, queue: 'finish', events: ['message.sent'] },
  },
  {
    is: 'nothing happens before the message exists',
    before: {},
    findings: [{ kind: 'sent', at: new Date(0), renderedAs: null }],
    then: { row: { sentAt: CREATED }, queue: 'finish', events: ['message.sent'] },
  },
  {
    is: 'the rendering that was built stays',
    before: { renderedAs: 'native_flow_list' },
    findings: [{ kind: 'sent', at: at(10), renderedAs: 'text_menu' }],
    then: { row: { renderedAs: 'native_flow_list' }, queue: 'finish', events: ['message.sent'] },
  },
];

test.each(CASES)('$is', ({ before, findings, then }) => {
  const change = decideChange(message(before), findings, NOW);
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

test('a failed message keeps its network id to itself', () => {
  const change = decideChange(message({}), [failed()], NOW);
  expect(change!.events[0]!.data).toMatchObject({
    wa_message_id: null,
    error: { code: 'wa_error', message: 'why' },
  });
});
