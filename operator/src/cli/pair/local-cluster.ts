import type { OperatorDesiredState } from '@gwk/core/desired-state/operator-client';
import type { Place } from '@gwk/core/desired-state/desired-state';
import { PAIRING_ANNOTATION } from '@gwk/core/resources/pairing-request';
import { changeResource } from '../instances/change.js';
import type { PairCluster } from './pair.js';

/** An Instance of the gateway on this machine. */
export function createLocalPairCluster(state: OperatorDesiredState, place: Place): PairCluster {
  return {
    instance: () => state.get(place),
    view: async () => (await state.details(place))?.pairing ?? null,
    async setRequest(request) {
      await changeResource(state, place, (resource) => {
        const annotations = { ...resource.metadata.annotations };
        if (request) annotations[PAIRING_ANNOTATION] = JSON.stringify(request);
        else delete annotations[PAIRING_ANNOTATION];
        return { ...resource, metadata: { ...resource.metadata, annotations } };
      });
    },
  };
}
