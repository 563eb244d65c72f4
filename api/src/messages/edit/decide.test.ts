import {
  ADMIN_DELETE_WINDOW_MS,
  decideDelete,
  decideEdit,
  decideReaction,
  EDIT_WINDOW_MS,
  type EditableMessage,
} from './decide.js';

const NOW = new Date('2026-03-10T12:00:00Z');
const ago = (ms: number) => new Date(NOW.getTime() - ms);

const sent: EditableMessage = {
  direction: 'outbound',
  type: 'text',
  status: 'sent',
  errorCode: null,
  sentAt: ago(60_000),
  scheduledFor: null,
  deletedForAll: false,
  participant: null,
};
const queued: EditableMessage = { ...sent, status: 'queued', sentAt: null };
const scheduled: EditableMessage = { ...queued, scheduledFor: ago(-60_000) };
const inbound: EditableMessage = { ...sent, direction: 'inbound', status: 'delivered' };
const inGroup: EditableMessage = { ...inbound, participant: '1@lid' };
const deleted: EditableMessage = { ...sent, deletedForAll: true };
const failed: EditableMessage = { ...queued, status: 'failed', errorCode: 'expired' };
const canceled: EditableMessage = { ...scheduled, status: 'failed', errorCode: 'canceled' };

test.each<[string, EditableMessage, string | null]>([
  ['a sent text', sent, null],
  ['a delivered text', { ...sent, status: 'delivered' }, null],
  ['a read text', { ...sent, status: 'read' }, null],
  ['a text at the end of its window', { ...sent, sentAt: ago(EDIT_WINDOW_MS) }, null],
  ['a text after its window', { ...sent, sentAt: ago(EDIT_WINDOW_MS + 1) }, 'edit-window-closed'],
  ['a queued text', queued, 'message-not-sent'],
  ['a scheduled text', scheduled, 'message-not-sent'],
  ['a text that is being sent', { ...queued, status: 'sending' }, 'message-not-sent'],
  ['a failed text', failed, 'message-not-sent'],
  ['an image', { ...sent, type: 'image' }, 'not-editable'],
  ['a queued image', { ...queued, type: 'image' }, 'not-editable'],
  ['a deleted text', deleted, 'not-editable'],
  ['an inbound text', inbound, 'not-editable'],
])('decides an edit of %s', (_, message, expected) => {
  expect(decideEdit(message, NOW)).toBe(expected);
});

test.each<[string, EditableMessage, string]>([
  ['a sent message', sent, 'delete'],
  ['an old read image', { ...sent, type: 'image', status: 'read', sentAt: ago(1e10) }, 'delete'],
  ['a scheduled message', scheduled, 'cancel'],
  ['a scheduled message that is being sent', { ...scheduled, status: 'sending' }, 'message-sending'],
  ['a message that is being sent', { ...queued, status: 'sending' }, 'message-sending'],
  ['a queued message without a schedule', queued, 'message-not-sent'],
  ['a failed message', failed, 'message-not-sent'],
  ['a failed scheduled message', { ...failed, scheduledFor: NOW }, 'message-not-sent'],
  ['a deleted message', deleted, 'nothing'],
  ['a canceled message', canceled, 'nothing'],
  ['an inbound message', inbound, 'not-editable'],
  ['a message of a group', inGroup, 'delete'],
  [
    'a message of a group at the end of its window',
    { ...inGroup, sentAt: ago(ADMIN_DELETE_WINDOW_MS) },
    'delete',
  ],
  ['an old message of a group', { ...inGroup, sentAt: ago(ADMIN_DELETE_WINDOW_MS + 1) }, 'not-editable'],
  ['a deleted message of a group', { ...inGroup, deletedForAll: true }, 'nothing'],
])('decides a deletion of %s', (_, message, expected) => {
  const decision = decideDelete(message, NOW);
  expect(typeof decision === 'string' ? decision : decision.refuse).toBe(expected);
});

test.each<[string, EditableMessage, string | null]>([
  ['a sent message', sent, null],
  ['a read image', { ...sent, type: 'image', status: 'read' }, null],
  ['an inbound message', inbound, null],
  ['an inbound message that was marked read', { ...inbound, status: 'read' }, null],
  ['a queued message', queued, 'message-not-sent'],
  ['a message that is being sent', { ...queued, status: 'sending' }, 'message-not-sent'],
  ['a failed message', failed, 'message-not-sent'],
])('decides a reaction to %s', (_, message, expected) => {
  expect(decideReaction(message)).toBe(expected);
});
