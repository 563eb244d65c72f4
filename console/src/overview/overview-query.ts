import { getClient, takeData } from '../api/client';

export const overviewQuery = (account: string) => ({
  queryKey: [account, 'overview'],
  queryFn: () => takeData(getClient(account).GET('/console/api/overview')),
});
