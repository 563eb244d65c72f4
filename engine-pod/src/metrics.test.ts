import { InternalApiRefusal, InternalApiUnreachable } from '@gwk/core/protocol/internal-client';
import { EngineMetrics } from './metrics.js';

test('counts the changes of the session that the API refused, and passes the error on', async () => {
  const metrics = new EngineMetrics(null, {
    ...{ state: () => 'connected', held: () => 0, activeConversations: () => 0, leaseMsLeft: () => 0 },
    ...{ redisUp: () => true, clientVersion: () => null },
  });
  const full = new InternalApiRefusal('session-full', null);
  await expect(metrics.timeStore(Promise.reject(full))).rejects.toBe(full);
  await expect(metrics.timeStore(Promise.reject(new InternalApiUnreachable('')))).rejects.toThrow('');
  await metrics.timeStore(Promise.resolve());
  expect(await metrics.text()).toContain('\ngwk_engine_session_refusals_total 1\n');
});
