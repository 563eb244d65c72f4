// Steps of a rehearsal, each in a process of its own: `node scripts/release/rehearse.ts <step> <place>`. The test tier
// e2e and `make release-dry-run` run them (test/support/release.ts).
import type { Place, Step } from '@gwk/test/support/release';
import { refuse } from './refuse.ts';
import { install, makeRelease, publishFormer, publishSources } from './rehearsal.ts';
import { prepareTools } from './tools.ts';

const STEPS: Record<Step, (place: Place) => Promise<void> | void> = {
  former: publishFormer,
  unsigned: publishSources,
  release: makeRelease,
  install: (place) => install(place, process.env['NAMESPACE']!),
  refuse,
};

const [step, place] = process.argv.slice(2) as [Step, string];
// The test key has no password.
process.env['COSIGN_PASSWORD'] = '';
await prepareTools({ needsCosign: step !== 'former' && step !== 'unsigned' });
await STEPS[step](JSON.parse(place) as Place);
