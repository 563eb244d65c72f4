import * as numberPage from './number-page';
import { numbers } from './numbers';
import * as shell from './shell';

export default { ...shell, ...numberPage, numbers };
