import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { makeLayer } from '../../images/layout.js';
import { pushImage } from '../../images/registry.js';
import type { NodePrograms } from './programs.js';
import { PAUSE_IMAGE } from './settings.js';

/** Makes the pause image, which contains one file, and pushes it. @param host registry */
export async function pushPause({ containerd }: NodePrograms, work: string, host: string): Promise<void> {
  const folder = join(work, 'pause');
  mkdirSync(folder);
  copyFileSync(join(containerd, 'pause'), join(folder, 'pause'));
  const layers = [await makeLayer(folder, `${folder}.tar.gz`)];
  const config = { Entrypoint: ['/pause'], User: '65532:65532' };
  pushImage({ version: '1', config, layers }, PAUSE_IMAGE.replace(/^[^/]+/, host));
}
