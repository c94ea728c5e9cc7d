//! Arrays as parameters, put together from elements that are datums already: each is copied once.

use pgrx::pg_sys::{self, BuiltinOid, Datum};

/// An array of elements of one type; a null where there is no value.
pub fn array(element: BuiltinOid, values: impl IntoIterator<Item = Option<Datum>>) -> Option<Datum> {
    let (mut datums, mut nulls) = (Vec::new(), Vec::new());
    for value in values {
        datums.push(value.unwrap_or(Datum::from(0)));
        nulls.push(value.is_none());
    }
    let mut dimensions = [i32::try_from(datums.len()).ok()?];
    let mut lower = [1];
    let (mut length, mut by_value, mut align) = (0, false, 0);
    // SAFETY: the element type is one of the server's own, and every datum is of it. The server copies them all into
    // the current memory context.
    unsafe {
        pg_sys::get_typlenbyvalalign(element.value(), &raw mut length, &raw mut by_value, &raw mut align);
        let array = pg_sys::construct_md_array(
            datums.as_mut_ptr(),
            nulls.as_mut_ptr(),
            1,
            dimensions.as_mut_ptr(),
            lower.as_mut_ptr(),
            element.value(),
            i32::from(length),
            by_value,
            align,
        );
        Some(Datum::from(array))
    }
}
