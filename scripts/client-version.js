// Compares the client version of this release with the one that the network serves:
//   node scripts/client-version.js [most days behind] [address of the script]
// Exit code 0: recent enough, 1: too old, 2: the served version cannot be read.
import { computeSecondsBehind } from '@gwk/api/client-version/metrics';
import { readServedVersion } from '@gwk/api/client-version/source';
import { BUNDLED } from '@gwk/core/client-version';
import { loadConfig } from '@gwk/core/config/load';
import { workerSettings } from '@gwk/api/config/worker';

const DAY_S = 86_400;
const { clientVersionUrl } = loadConfig({ clientVersionUrl: workerSettings.clientVersionUrl }, {});
const [most = '14', url = clientVersionUrl] = process.argv.slice(2);

try {
  const served = await readServedVersion({ url, agents: null });
  const seconds = computeSecondsBehind(served, Date.now());
  const behind = `${Math.floor(seconds / DAY_S)} days behind`;
  console.log(`bundled ${BUNDLED.version} of ${BUNDLED.day}, served ${served}: ${behind} (at most ${most})`);
  process.exitCode = seconds > Number(most) * DAY_S ? 1 : 0;
} catch (error) {
  console.error(error.message);
  process.exitCode = 2;
}
