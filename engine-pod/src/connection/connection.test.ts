import { setImmediate as nextTurn } from 'node:timers/promises';
import { createLogger } from '@gwk/core/process/log';
import type { ConnectionEvent, Driver } from '../driver/driver.js';
import { Connection } from './connection.js';

test('the linked device logs in once the API has stored the pairing', async () => {
  const opened: (string | null)[] = [];
  let emit!: (event: ConnectionEvent) => void;
  const driver = {
    connect: (listen: typeof emit, pairing: { session: string } | null) => {
      emit = listen;
      opened.push(pairing?.session ?? null);
    },
    close: () => Promise.resolve(),
  } as unknown as Driver;
  const stored = Promise.withResolvers<void>();
  const connection = new Connection({
    driver,
    stored: { state: 'logged_out', banned_until: null, reconnect_count: 0, reconnect_at: null },
    log: createLogger('engine', 'silent'),
    storeState: () => stored.promise,
    ended: () => undefined,
    storePairing: () => Promise.resolve(true),
    openChanged: () => undefined,
    replaced: () => undefined,
  });
  connection.pair({ session: 'one', method: 'qr', phone: null });
  await nextTurn();
  const device = { jid: '5511900000001@s.whatsapp.net', business_name: null, platform: null };
  emit({ kind: 'paired', device });
  emit({
    kind: 'closed',
    disconnect: { kind: 'dropped', reason: 'restart_required', reconnect: 'at-once' },
  });
  await nextTurn();
  expect(opened).toEqual(['one']);
  stored.resolve();
  await nextTurn();
  expect(opened).toEqual(['one', null]);
});
