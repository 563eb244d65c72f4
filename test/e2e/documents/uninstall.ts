import { listInlineCommands } from '../../support/docs/blocks.js';
import { applyInstance } from './kubernetes.js';
import { loseInstance } from './operate.js';
import { expectTexts, type Reader } from './reader.js';

const UNINSTALLED = 'release "gwk" uninstalled';

/** The first commands of docs/uninstall.md. */
export async function uninstall(reader: Reader): Promise<void> {
  expectTexts(await reader.type('uninstall.md', 'delete gwi --all'), '"shop" deleted', UNINSTALLED);
  await reader.run('kubectl delete namespace messages --timeout=2m');
}

/** "Keep the instances" and "Remove the rest" of docs/uninstall.md. The account is that of the notes. */
export async function removeAll(reader: Reader): Promise<void> {
  await applyInstance(reader, 'sandbox');
  await reader.run('kubectl -n messages wait --for=condition=Ready gwi/shop --timeout=2m');
  const removed = await reader.type('uninstall.md', 'delete pods -l');
  expectTexts(removed, UNINSTALLED, 'pod "gwk-shop" deleted');
  expectTexts(await reader.run('kubectl -n messages get gwi'), /^shop /m);
  await loseInstance(reader);
  for (const command of listInlineCommands('uninstall.md')) await reader.run(command);
  const left = 'kubectl -n messages get pvc,secret,pod,deploy,statefulset,job -o name';
  await reader.untilRead(left, /^$/);
}
