import { join } from 'node:path';

/** Says where the running network is. */
export const whereaboutsFile = (folder: string): string => join(folder, 'network.json');
