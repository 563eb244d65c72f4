import { expectTexts, type Reader } from './reader.js';

const UPGRADED = /has been upgraded/;
const ROLLED_BACK = 'Rollback was a success';
const CONNECTED = /^messages +shop +True +connected/m;

/** docs/upgrade.md, with an Instance `shop` that is connected. */
export async function upgrade(reader: Reader): Promise<void> {
  expectTexts(await reader.type('upgrade.md', '^helm upgrade gwk'), UPGRADED);
  const upgraded = await reader.type('kubernetes.md', 'condition=UpToDate');
  expectTexts(upgraded, 'UPTODATE', CONNECTED, 'shop condition met');
  expectTexts(await reader.type('upgrade.md', 'logs --prefix'), /^\[pod\/gwk-migrate-\S+\/migrate\] /m);
  const repeated = await reader.type('upgrade.md', '^kubectl -n messages delete job');
  expectTexts(repeated, /job.* deleted/, UPGRADED);
  expectTexts(await reader.type('upgrade.md', 'get gwi -A -o wide'), CONNECTED, ROLLED_BACK);
  expectTexts(await reader.type('upgrade.md', '> instances.yaml'), ROLLED_BACK);
  expectTexts(reader.read('instances.yaml'), 'kind: Instance', 'name: shop');
  expectTexts(await reader.type('upgrade.md', '.status.storedVersions}'), /^\["v1"\]$/);
  await renewCertificate(reader);
}

/** "Keys and certificates": afterwards running engines do not trust the API until they have been replaced. */
async function renewCertificate(reader: Reader): Promise<void> {
  const pod = 'kubectl -n messages get pod gwk-shop -o jsonpath={.metadata.uid}';
  const former = await reader.run(pod);
  const renewed = await reader.type('upgrade.md', 'delete secret gwk-internal-tls');
  expectTexts(renewed, '"gwk-internal-tls" deleted', UPGRADED, 'deployment.apps/gwk-operator restarted');
  await reader.untilRead(pod, new RegExp(`^(?!${former})`));
  await reader.run('kubectl -n messages rollout status deploy/gwk-api');
  await reader.run('kubectl -n messages wait --for=condition=Ready gwi/shop --timeout=3m');
}
