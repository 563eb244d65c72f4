import fc from 'fast-check';
import { HostileClient } from '../support/gateway/hostile-client.js';
import { openSharedStage, type SharedStage } from './shared-stage.js';
import { hostileRequests } from '../support/hostile/hostile-requests.js';

/** The requests are the same in each run. test/processes/fuzz.test.ts sends many more. */
const REQUESTS = 400;
const SEED = 1;

let stage: SharedStage;
let hostile: HostileClient;
beforeAll(async () => {
  stage = await openSharedStage('fuzz', { maxInstances: 1 });
  hostile = await HostileClient.of({ ...stage, client: stage.customer.client });
});

test('answers hostile requests without a 500, and only as OpenAPI describes', async () => {
  const { document, ids } = hostile;
  await hostile.send(fc.sample(hostileRequests(document, ids), { numRuns: REQUESTS, seed: SEED }));
  await hostile.staysInGoodHealth();
  expect(stage.gateway.ended()).toEqual([]);
});
