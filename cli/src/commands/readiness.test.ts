import { judgeInstances } from './readiness.js';

test('readiness: waiting cures a connecting instance, and not a banned one', () => {
  expect(judgeInstances([{ name: 'a', state: 'connected' }])).toBeNull();
  expect(judgeInstances([{ name: 'a', state: 'connecting' }])).toMatchObject({ isTemporary: true });
  expect(judgeInstances([{ name: 'a', state: 'banned' }])).toMatchObject({
    isTemporary: false,
    kind: 'refused',
  });
});
