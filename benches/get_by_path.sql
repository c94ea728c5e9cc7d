select me.memory_get_by_path('share/5/n500');
