import { ResourceConflict, type DesiredState, type Place } from '@gwk/core/desired-state/desired-state';
import type { InstanceResource } from '@gwk/core/resources/manifest';

const TRIES = 10;

/** Changes a resource whatever others write meanwhile. Null: it does not exist. */
export async function changeResource(
  state: DesiredState,
  place: Place,
  edit: (resource: InstanceResource) => InstanceResource,
): Promise<{ before: InstanceResource; after: InstanceResource } | null> {
  for (let attempt = 1; ; attempt++) {
    const before = await state.get(place);
    if (!before) return null;
    try {
      return { before, after: await state.change(edit(before)) };
    } catch (error) {
      if (!(error instanceof ResourceConflict) || attempt === TRIES) throw error;
    }
  }
}
