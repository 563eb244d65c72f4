import { MEDIA_CERTIFICATE } from '@gwk/network/media/certificate';
import { parse } from 'yaml';
import { ROOT } from '../../support/program.js';
import { readPageBlocks } from '../../support/readme.js';
import { VERSION } from '../../support/release.js';
import { MAIN_NODE, type E2eStage } from '../stage.js';
import { followNotes } from './notes.js';
import { expectTexts, type Reader } from './reader.js';
import type { Stores } from './stores.js';

/** "Install for production" of docs/install.md. */
export async function installForProduction(reader: Reader, stores: Stores): Promise<void> {
  const { stage } = reader;
  const { postgres, redis, bucket } = stores;
  // The values name registry.example.com/gwk.
  await stage.copyImages('gwk');
  await reader.type('install.md', 'create secret generic databases', {
    'postgresql://gwk:...@postgres.example.com/gwk?sslmode=verify-full': await stores.forPods(
      postgres.url('gwk', 'gwk'),
    ),
    'rediss://gwk:...@redis.example.com:6379': await stores.forPods(redis.url),
    "access-key='...'": `access-key=${bucket.environment['GWK_MEDIA_S3_ACCESS_KEY']}`,
    "secret-key='...'": `secret-key=${bucket.environment['GWK_MEDIA_S3_SECRET_KEY']}`,
  });
  reader.write('values.yaml', JSON.stringify(await makeValues(stage, stores)));
  const installed = await reader.type('install.md', '--values values.yaml');
  expectTexts(installed, 'STATUS: deployed', 'https://api.example.com', 'Back up the Secret "gwk"');
  const addresses = await reader.type('install.md', 'service-name=kubernetes');
  expectTexts(addresses, stage.cluster.address);
  await reader.type('install.md', 'get secret gwk');
  expectTexts(reader.read('gwk-secret.yaml'), 'kind: Secret', 'encryption-keys: ');
}

/** The page's values, with the bucket and the simulated network of the reader. */
async function makeValues({ network }: E2eStage, stores: Stores): Promise<object> {
  const shown = readPageBlocks('install.md', 'yaml').find((block) => block.startsWith('# values.yaml'));
  const values = parse(shown!) as { media: { s3: object } };
  const { environment } = stores.bucket;
  Object.assign(values.media.s3, {
    url: await stores.forPods(environment['GWK_MEDIA_S3_URL']!),
    bucket: environment['GWK_MEDIA_S3_BUCKET'],
    pathStyle: true,
  });
  const settings = {
    GWK_OPERATOR_NETWORK_URL: await stores.forPods(network.url),
    GWK_OPERATOR_NETWORK_ROOT: network.root.toString('hex'),
    GWK_OPERATOR_NETWORK_CA: MEDIA_CERTIFICATE.cert,
  };
  return { ...values, operator: { settings } };
}

/** docs/tutorials/kubernetes.md with the notes that Helm prints, and volumes of a default storage class. The registry has no images by the default names. */
export async function tryIt(reader: Reader): Promise<void> {
  await makeVolumes(reader.stage);
  await reader.type('tutorials/kubernetes.md', 'kind load', {}, ROOT);
  await importByHand(reader);
  const installed = await reader.type('tutorials/kubernetes.md', 'demo.enabled=true');
  expectTexts(installed, 'gwk account create main', /^Phase:\s+Succeeded$/m);
  await followNotes(reader, installed, async (key) => {
    const sent = await reader.type('tutorials/kubernetes.md', 'get gwi first', { 'gwk_live_...': key });
    expectTexts(sent, '"status":"queued"', '"type":"message.status_updated"');
  });
  await reader.run('kubectl -n messages delete gwi first --timeout=1m');
}

/** The API's image is imported by `ctr` in place of `kind`. */
async function importByHand(reader: Reader): Promise<void> {
  const node = reader.stage.cluster.node(MAIN_NODE);
  await node.ctr('images', 'rm', `docker.io/library/gwk-api:${VERSION}`);
  await reader.typeInline('tutorials/kubernetes.md', 'docker save');
  await reader.type('tutorials/kubernetes.md', 'images import');
}

async function makeVolumes(stage: E2eStage): Promise<void> {
  const name = 'by-hand';
  await stage.cluster.admin.applied({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name, annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
    provisioner: 'kubernetes.io/no-provisioner',
  });
  for (const volume of ['trial-media', 'trial-postgres', 'trial-redis']) await stage.makeVolume(volume, name);
}
