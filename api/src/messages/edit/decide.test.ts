import { EDIT_WINDOW_MS, judgeDelete, judgeEdit, judgeReaction, type Alterable } from './decide.js';

const NOW = new Date('2026-03-10T12:00:00Z');
const ago = (ms: number) => new Date(NOW.getTime() - ms);

const sent: Alterable = {
  direction: 'outbound',
  type: 'text',
  status: 'sent',
  errorCode: null,
  sentAt: ago(60_000),
  scheduledFor: null,
  deletedForAll: false,
};
const queued: Alterable = { ...sent, status: 'queued', sentAt: null };
const scheduled: Alterable = { ...queued, scheduledFor: ago(-60_000) };
const inbound: Alterable = { ...sent, direction: 'inbound', status: 'delivered' };
const deleted: Alterable = { ...sent, deletedForAll: true };
const failed: Alterable = { ...queued, status: 'failed', errorCode: 'expired' };
const canceled: Alterable = { ...scheduled, status: 'failed', errorCode: 'canceled' };

test.each<[string, Alterable, string | null]>([
  ['a text that left', sent, null],
  ['a text that was delivered', { ...sent, status: 'delivered' }, null],
  ['a text that was read', { ...sent, status: 'read' }, null],
  ['a text in the last moment of its window', { ...sent, sentAt: ago(EDIT_WINDOW_MS) }, null],
  ['a text after its window', { ...sent, sentAt: ago(EDIT_WINDOW_MS + 1) }, 'edit-window-closed'],
  ['a text that waits', queued, 'message-not-sent'],
  ['a scheduled text', scheduled, 'message-not-sent'],
  ['a text that is leaving', { ...queued, status: 'sending' }, 'message-not-sent'],
  ['a text that failed', failed, 'message-not-sent'],
  ['an image', { ...sent, type: 'image' }, 'not-editable'],
  ['an image that waits: no waiting helps', { ...queued, type: 'image' }, 'not-editable'],
  ['a text that was deleted', deleted, 'not-editable'],
  ['a text of the contact', inbound, 'not-editable'],
])('editing %s', (_, message, expected) => {
  expect(judgeEdit(message, NOW)).toBe(expected);
});

test.each<[string, Alterable, string]>([
  ['a message that left', sent, 'delete'],
  ['an old image that was read', { ...sent, type: 'image', status: 'read', sentAt: ago(1e10) }, 'delete'],
  ['a scheduled message', scheduled, 'cancel'],
  ['a scheduled message that is leaving', { ...scheduled, status: 'sending' }, 'message-sending'],
  ['a message that is leaving', { ...queued, status: 'sending' }, 'message-sending'],
  ['a message that waits unscheduled', queued, 'message-not-sent'],
  ['a message that failed', failed, 'message-not-sent'],
  ['a scheduled message that failed', { ...failed, scheduledFor: NOW }, 'message-not-sent'],
  ['a deleted message', deleted, 'nothing'],
  ['a canceled message', canceled, 'nothing'],
  ['a message of the contact', inbound, 'not-editable'],
])('deleting %s', (_, message, expected) => {
  const verdict = judgeDelete(message);
  expect(verdict.do === 'refuse' ? verdict.code : verdict.do).toBe(expected);
});

test.each<[string, Alterable, string | null]>([
  ['a message that left', sent, null],
  ['an image that was read', { ...sent, type: 'image', status: 'read' }, null],
  ['a message of the contact', inbound, null],
  ['a message of the contact that was marked read', { ...inbound, status: 'read' }, null],
  ['a message that waits', queued, 'message-not-sent'],
  ['a message that is leaving', { ...queued, status: 'sending' }, 'message-not-sent'],
  ['a message that failed', failed, 'message-not-sent'],
])('reacting to %s', (_, message, expected) => {
  expect(judgeReaction(message)).toBe(expected);
});
