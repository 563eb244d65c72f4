import { expectTexts, type Reader } from './reader.js';

const BEFORE = new Date(0).toISOString();

/**
 * "Back up", "Restore" and the other commands of docs/operate.md. A key is revoked after the backup, and the cluster
 * loses the Instance `shop` while the operator is stopped.
 */
export async function operate(reader: Reader): Promise<void> {
  const [revoked, other] = [await createKey(reader), await createKey(reader)];
  await reader.run('gwk account create acme');
  await backUp(reader);
  await reader.run(`gwk key revoke ${revoked}`);
  await readAuditLog(reader, revoked);
  await stopPrograms(reader);
  await reader.type('operate.md', 'pg_restore ');
  await reader.type('operate.md', 'BEFORE_URL');
  await startAgain(reader, revoked, other);
  const account = await reader.type('operate.md', 'account limits acme');
  expectTexts(account, '"max_media_bytes": 20000000000', '"usage"', '"name": "acme"');
  const audited = await reader.type('operate.md', '--subject ins_...', { 'ins_...': other });
  expectTexts(audited, 'account.limits', 'key.revoke', other);
  const versions = await reader.type('operate.md', 'network-version show', { '<you>': 'ana' });
  expectTexts(versions, '"bundled": {', '"by": "cli:ana"', '"pinned": null');
}

async function createKey(reader: Reader): Promise<string> {
  const created = await reader.run('gwk key create --account main --scopes all');
  return (JSON.parse(created) as { id: string }).id;
}

async function backUp(reader: Reader): Promise<void> {
  await reader.type('operate.md', 'pg_dump ');
  await reader.typeInline('operate.md', 'get secret gwk');
  await reader.typeInline('operate.md', '> instances.json');
}

async function readAuditLog(reader: Reader, revoked: string): Promise<void> {
  await reader.type('operate.md', 'audit --since', { '<time of the backup>': BEFORE });
  expectTexts(reader.read('audit.json'), 'key.revoke', revoked);
  // A worker logs each entry later than the API stores it.
  const logs =
    'kubectl -n messages logs -l app.kubernetes.io/name=gwk,app.kubernetes.io/component=worker --tail=-1';
  await reader.untilRead(logs, revoked);
  await reader.type('operate.md', '"msg":"audit"');
  expectTexts(reader.read('audit.log'), revoked);
}

async function stopPrograms(reader: Reader): Promise<void> {
  await reader.type('operate.md', 'managed-by=gwk-operator,app.kubernetes.io/component=engine');
  const left = await reader.run('kubectl -n messages get pods -o name --field-selector status.phase=Running');
  if (left !== '') throw new Error(`${left} still run`);
  await loseInstance(reader);
}

/** "Release Instances without an operator" of docs/uninstall.md. */
export async function loseInstance(reader: Reader): Promise<void> {
  await reader.run('kubectl -n messages delete gwi shop --wait=false');
  await reader.type('uninstall.md', 'patch gwi shop');
  expectTexts(await reader.run('kubectl -n messages get gwi -o name'), /^$/);
}

async function startAgain(reader: Reader, revoked: string, other: string): Promise<void> {
  await reader.type('operate.md', 'after-restore');
  // Step 4 has revoked the key again.
  expectTexts(await reader.run('gwk key list --account main'), new RegExp(`${revoked}[^}]*"revoked_at": "`));
  await reader.type('operate.md', 'account suspend', { 'key_...': other, '<name>': 'acme' });
  const upgraded = await reader.type('operate.md', '--set api.replicas=1');
  expectTexts(upgraded, 'has been upgraded');
  await reader.type('operate.md', 'instances.json | kubectl apply');
  await reader.type('operate.md', '--replicas=2');
  // The Instance finds its row and its session, so no phone pairs again.
  await reader.run('kubectl -n messages wait --for=condition=Ready gwi/shop --timeout=3m');
}
