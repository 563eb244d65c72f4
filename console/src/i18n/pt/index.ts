import * as shell from './shell';
import { numbers } from './numbers';

export default { ...shell, numbers };
