import fc from 'fast-check';
import { HostileClient } from '../support/gateway/hostile-client.js';
import { openSharedStage, type SharedStage } from './shared-stage.js';
import { hostileRequests } from '../support/hostile/hostile-requests.js';

/** The same ones each time; test/processes/fuzz.test.ts has many more. */
const REQUESTS = 400;
const SEED = 1;

let stage: SharedStage;
let hostile: HostileClient;
beforeAll(async () => {
  stage = await openSharedStage('fuzz', { maxInstances: 1 });
  hostile = await HostileClient.of({ ...stage, client: stage.customer.client });
});

test('hostile requests get no 500, and only answers that the description of the interface knows', async () => {
  const { document, ids } = hostile;
  await hostile.send(fc.sample(hostileRequests(document, ids), { numRuns: REQUESTS, seed: SEED }));
  await hostile.staysInGoodHealth();
  expect(stage.gateway.ended()).toEqual([]);
});
