import { Select, type SelectProps } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../session/session';
import { findAccounts, type AccountAccess } from '../session/session-api';

interface AccountSelectProps extends Pick<SelectProps, 'label' | 'clearable' | 'maw' | 'placeholder'> {
  current: { id: string; name: string } | undefined;
  onChange: (account: AccountAccess | null) => void;
}

const TYPING_MS = 200;
/** A list of fewer accounts is shown without a search. */
const FEW = 8;

/** Chooses an account. The session lists the first accounts; the API searches among more. */
export function AccountSelect({ current, onChange, label, ...look }: AccountSelectProps) {
  const { t } = useTranslation();
  const { accounts: listed, has_more_accounts: hasMore } = useSession();
  const [typed, setTyped] = useState('');
  // The name of the chosen account stands in the field, and is no search.
  const [wanted] = useDebouncedValue(typed === current?.name ? '' : typed.trim(), TYPING_MS);
  const search = useQuery({
    queryKey: ['accounts', 'search', wanted],
    queryFn: () => findAccounts(wanted),
    enabled: hasMore && wanted !== '',
    placeholderData: keepPreviousData,
  });
  const found = wanted === '' ? listed : (search.data ?? listed);
  const isAbsent = current && !found.some(({ id }) => id === current.id);
  const data = [...(isAbsent ? [current] : []), ...found].map(({ id, name }) => ({ value: id, label: name }));
  return (
    <Select
      {...look}
      {...(label ? { label } : { 'aria-label': t('shell.account') })}
      data={data}
      value={current?.id ?? null}
      onChange={(chosen) => onChange(found.find(({ id }) => id === chosen) ?? null)}
      allowDeselect={false}
      searchable={hasMore || listed.length > FEW}
      onSearchChange={setTyped}
      {...(hasMore && { filter: ({ options }) => options })}
      nothingFoundMessage={t('platform.nothingFound')}
    />
  );
}
