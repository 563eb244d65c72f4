import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNetwork } from '../start.js';
import { setStage } from '../testing/stage.js';
import { StockClient } from '../testing/stock-client.js';

const folder = mkdtempSync(join(tmpdir(), 'gwk-network-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('a network stored in a file', () => {
  it('keeps pairings, names and waiting mail after a restart', async () => {
    const stateFile = join(folder, 'network.json');
    const stage = await setStage({ stateFile });
    const { client, ana, phone } = stage;
    await client.gotId(await ana.writes('before', { to: phone.number }));
    await ana.receives({ id: (await client.send(ana.jid, { text: 'answered' })).id });
    await phone.hasTakenAll();
    await stage.network.contact(ana.number, { username: 'ana', phoneHidden: true });
    await client.stop();
    const waiting = await ana.writes('while away', { to: phone.number });
    await stage.close();

    const again = await startNetwork({ stateFile });
    expect(again.root.equals(stage.running.root)).toBe(true);
    const back = await new StockClient(again, client.auth).open().connected();
    expect(back.text(await back.gotId(waiting))).toBe('while away');
    const sameAna = await again.client.contact(ana.number);
    expect(sameAna.lid).toBe(ana.lid);
    expect(await again.client.call('accounts', undefined)).toContainEqual(
      expect.objectContaining({ number: ana.number, username: 'ana', phoneHidden: true }),
    );
    const { id } = await back.send(ana.jid, { text: 'still here' });
    expect(await sameAna.receives({ id })).toMatchObject({ fate: 'shown', attempt: 0 });
    await back.stop();
    await again.close();
  });
});
