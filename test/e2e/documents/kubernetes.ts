import { PAIRING_FIELD, pairingSecretName } from '@gwk/core/resources/pairing-request';
import { ROOT } from '../../support/program.js';
import { readPageBlocks } from '../../support/readme.js';
import { until } from '../../support/wait.js';
import { expectTexts, type Reader } from './reader.js';

/** The number that docs/kubernetes.md pairs. */
const NUMBER = '5511999990000';

/** docs/kubernetes.md. Afterwards the Instance `shop` is paired. */
export async function createInstance(reader: Reader): Promise<void> {
  const phone = await reader.stage.network.client.phone(NUMBER, { name: 'Shop' });
  await reader.type('kubernetes.md', 'account create main');
  await applyInstance(reader, 'web');
  await findSuspended(reader);
  const pairing = reader.type('kubernetes.md', 'make build', {}, ROOT);
  await pairWith(reader, pairing, (code) => phone.scans(code));
  const seen = await reader.type('kubernetes.md', 'condition=Ready gwi/shop');
  expectTexts(seen, 'condition met', /^shop +True +connected/m, 'Conditions:', 'Events:', '"shop" deleted');
  await applyInstance(reader, 'web');
  await pairWith(reader, reader.type('kubernetes.md', '--method code', {}, ROOT), (code) =>
    phone.types(code),
  );
  await readEngine(reader);
}

/** What `kubectl gwk` reads from the engine itself, and from the kubelet of its node. */
async function readEngine(reader: Reader): Promise<void> {
  const status = 'kubectl gwk status shop -n messages';
  await reader.untilRead(status, /^OK /m);
  expectTexts(await reader.run(status), /^Lease +held/m, /^Queue +0 claimed/m);
  const lines = await reader.run('kubectl gwk logs shop -n messages --tail=3');
  expectTexts(lines, /^\{"level":"\w+",.*"program":"engine"/m);
  if (lines.trimEnd().split('\n').length !== 3) throw new Error(`not three lines:\n${lines}`);
}

async function findSuspended(reader: Reader): Promise<void> {
  const sleeping = `apiVersion: gwk.dev/v1
kind: Instance
metadata: { name: sleeping }
spec: { account: main, suspended: true }
`;
  reader.write('sleeping.yaml', sleeping);
  await reader.run('kubectl -n messages apply -f sleeping.yaml');
  const found = await reader.type('kubernetes.md', '--field-selector');
  expectTexts(found, /^messages +sleeping /m);
  if (/^messages +shop /m.test(found)) throw new Error(`shop is not suspended:\n${found}`);
  await reader.run('kubectl -n messages delete -f sleeping.yaml');
}

/** Applies the Instance of the page. */
export async function applyInstance(reader: Reader, kind: 'web' | 'sandbox'): Promise<void> {
  const shown = readPageBlocks('kubernetes.md', 'yaml').find((block) => block.startsWith('# shop.yaml'))!;
  reader.write('shop.yaml', `${shown}  kind: ${kind}\n`);
  expectTexts(await reader.type('kubernetes.md', 'apply -f shop.yaml'), 'shop condition met');
}

/** The phone reads the code where the command reads it, because the command prints a QR code as a picture. */
async function pairWith(
  reader: Reader,
  pairing: Promise<string>,
  enterCode: (code: string) => Promise<unknown>,
): Promise<void> {
  const { admin } = reader.stage.cluster;
  const path = `/api/v1/namespaces/messages/secrets/${pairingSecretName('shop')}`;
  const readCode = async () => {
    const { body } = await admin.get<{ data?: Record<string, string> }>(path);
    const view = Buffer.from(body.data?.[PAIRING_FIELD] ?? '', 'base64').toString();
    return view === '' ? null : (JSON.parse(view) as { code: string | null }).code;
  };
  const shown = until(readCode, { what: 'gwk pair shows a code', timeoutMs: 120_000 });
  // A command that fails ends the wait.
  const code = await Promise.race([shown, pairing.then(() => shown)]);
  await enterCode(code);
  expectTexts(await pairing, 'shop is paired');
}
