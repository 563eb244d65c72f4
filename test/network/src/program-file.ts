import { join } from 'node:path';

/** Path of the file with the addresses of the running network. */
export const whereaboutsFile = (folder: string): string => join(folder, 'network.json');
